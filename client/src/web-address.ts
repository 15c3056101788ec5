/**
 * A name, an IPv4 address, or an IPv6 address in brackets, right after the two slashes, and a port. Parsers differ on any other
 * text.
 */
const SHAPE = /^https?:\/\/([^\s\p{Cc}\\/?#@:[\]%<>^|]+|\[[\da-fA-F:.]+\])(:\d*)?([/?#][^\s\p{Cc}\\]*)?$/u;

/**
 * Whether a value is an absolute http or https URL with a host. A third slash, a user name, spaces, control characters and
 * backslashes are refused, because a browser reads them in another way than other programs do.
 */
export function isWebAddress(value: unknown): value is string {
  return typeof value === 'string' && SHAPE.test(value) && URL.canParse(value);
}

/** Whether the host of a URL is this computer. */
export function isLoopback({ host }: URL): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/.test(host);
}
