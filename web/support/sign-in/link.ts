const LINK_FRAGMENT = /^#link=([\w-]{43})$/;

/** Reads the one-time link and removes it from the address at once, so that neither the history nor a shared address contains it. */
export function takeLink(): string | undefined {
  const [, link] = LINK_FRAGMENT.exec(location.hash) ?? [];
  if (location.hash.startsWith('#link=')) history.replaceState(null, '', location.pathname + location.search);
  return link;
}
