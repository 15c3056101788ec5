const SHAPE = /^#link=([\w-]{43})$/;

/** The one-time link of the address, which it is taken out of at once: history and a shared address give nothing away. */
export function takeLink(): string | undefined {
  const [, link] = SHAPE.exec(location.hash) ?? [];
  if (location.hash.startsWith('#link=')) history.replaceState(null, '', location.pathname + location.search);
  return link;
}
