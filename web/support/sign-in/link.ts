const LINK_FRAGMENT = /^#link=([\w-]{43})$/;

/** Returns the secret of a one-time link and removes it from the URL, so that neither the history nor a shared URL contains it. */
export function takeLink(): string | undefined {
  const [, link] = LINK_FRAGMENT.exec(location.hash) ?? [];
  if (location.hash.startsWith('#link=')) history.replaceState(null, '', location.pathname + location.search);
  return link;
}
