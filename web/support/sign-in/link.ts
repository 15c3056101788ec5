/** The secret has 32 bytes, which are 43 characters in base64url. */
const LINK_FRAGMENT = /^#link=([\w-]{43})$/;

/**
 * Returns the secret of a one-time link and removes it from the URL, so that neither the history nor a shared URL contains it.
 * Undefined if the URL has no secret, or one of another form, which is removed too.
 */
export function takeLink(): string | undefined {
  const [, link] = LINK_FRAGMENT.exec(location.hash) ?? [];
  if (location.hash.startsWith('#link=')) history.replaceState(null, '', location.pathname + location.search);
  return link;
}
