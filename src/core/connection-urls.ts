import { accessSync, constants } from 'node:fs';
import { BlockList, isIP } from 'node:net';
import { ConfigError } from './config-error.js';
import { hostUrls, withHosts } from './host-list.js';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** Whether a connection to this host stays on this machine: a loopback address, or a name of the domain `localhost` (RFC 6761). */
export function isLoopbackHost(host: string): boolean {
  const name = withoutBrackets(host).toLowerCase();
  if (name === 'localhost' || name.endsWith('.localhost')) return true;
  const family = isIP(name);
  // `BlockList` checks an IPv4 address mapped into IPv6 as the IPv4 address.
  return family !== 0 && LOOPBACK.check(name, family === 4 ? 'ipv4' : 'ipv6');
}

/** Whether the host of a URL is an IP address. */
export const isIpHost = (host: string): boolean => isIP(withoutBrackets(host)) !== 0;

const withoutBrackets = (host: string): string => host.replace(/^\[(.*)\]$/, '$1');

/** The mode that is used for each value of `sslmode`. `require` and `verify-ca` mean `verify-full`, as in pg 8. */
const SSL_MODES: ReadonlyMap<string, string> = new Map([
  ['verify-full', 'verify-full'],
  ['verify-ca', 'verify-full'],
  ['require', 'verify-full'],
  ['no-verify', 'no-verify'],
  ['disable', 'disable'],
]);
/** The parameters of a database URL that name files, which pg reads for each connection. */
const SSL_FILES = ['sslrootcert', 'sslcert', 'sslkey'];

// The errors of this file do not contain URLs, because a URL contains a password.

/** Parses the URL of a database, which may have several hosts. @returns the URL with its TLS option @throws ConfigError */
export function databaseUrl(setting: string, text: string): string {
  refuseUnescaped(setting, text);
  const urls = hostUrls(text).map((each) => parseDatabaseUrl(setting, each));
  const first = urls[0]!;
  if (databaseHost(first).includes(',') || (urls.length > 1 && first.searchParams.has('host'))) {
    throw new ConfigError(
      `${setting} must give several hosts before the name of the database: postgres://user:password@host1:port,host2:port/name.`,
    );
  }
  const hosts = urls.map(({ host }) => host);
  return withHosts(databaseUrlWithTls(setting, first, urls.map(databaseHost)), hosts);
}

function parseDatabaseUrl(setting: string, text: string): URL {
  const url = URL.parse(text);
  if (url && /^postgres(ql)?:$/.test(url.protocol) && databaseHost(url)) return url;
  throw new ConfigError(`${setting} must be a URL of the form postgres://user:password@host:port/name.`);
}

/** Parses the URL of a mail server. @returns the URL with its TLS option @throws ConfigError */
export function smtpUrl(setting: string, text: string): string {
  refuseUnescaped(setting, text);
  const url = URL.parse(text);
  if (!url || !/^smtps?:$/.test(url.protocol) || !url.hostname) {
    throw new ConfigError(
      `${setting} must be a URL of the form smtp://user:password@host:port or smtps://….`,
    );
  }
  return smtpUrlWithTls(setting, url);
}

/**
 * Refuses a URL whose user name or password has a character that must be escaped. The URL standard reads the text up to the last
 * `@` before the first `/`, `?` or `#` as the user name and password: of `smtp://user:pa@ss/word@host` the host would be `ss`.
 * Therefore an `@` after the first `/`, `?` or `#` is refused too, also in a query.
 */
function refuseUnescaped(setting: string, text: string): void {
  const [, authority = '', rest = ''] = /^[^:]*:\/\/([^/?#]*)(.*)$/s.exec(text) ?? [];
  const [credentials = '', ...hosts] = authority.split('@');
  if (
    hosts.length <= 1 &&
    !rest.includes('@') &&
    !/%(?![0-9a-f]{2})/i.test(hosts.length > 0 ? credentials : '')
  )
    return;
  throw new ConfigError(
    `The user name and the password in ${setting} must be escaped: write @ as %40, / as %2F, ? as %3F, # as %23 and % as %25.`,
  );
}

/**
 * Returns the URL of a database with the sslmode that is used (docs/decisions/0029). TLS with a verified certificate is the
 * default unless all hosts are on this machine. All connections use the returned URL.
 * @param setting the name of the setting @param url its value, with the first host alone @param hosts all its hosts
 * @throws ConfigError
 */
function databaseUrlWithTls(setting: string, url: URL, hosts: readonly string[]): string {
  const { searchParams } = url;
  if (searchParams.has('ssl') || searchParams.has('uselibpqcompat')) {
    throw new ConfigError(`${setting} must give sslmode in place of ssl and uselibpqcompat.`);
  }
  // pg uses the last of several values.
  const requested = searchParams.getAll('sslmode').at(-1);
  const mode = requested === undefined ? undefined : SSL_MODES.get(requested);
  if (requested !== undefined && mode === undefined) {
    throw new ConfigError(
      `The sslmode of ${setting} must be verify-full, verify-ca, require, no-verify or disable.`,
    );
  }
  for (const file of SSL_FILES) refuseUnreadable(setting, file, searchParams.getAll(file).at(-1));
  const areLocal = hosts.every((host) => host.startsWith('/') || isLoopbackHost(host));
  if (mode === undefined && areLocal) return url.href;
  searchParams.set('sslmode', mode ?? 'verify-full');
  return url.href;
}

/** The host that pg connects to: a name, an address, or the folder of a Unix socket; empty if the URL has none. */
export function databaseHost({ searchParams, hostname }: URL): string {
  const host = searchParams.getAll('host').at(-1);
  if (host) return host;
  try {
    return decodeURIComponent(hostname);
  } catch {
    return '';
  }
}

/** Refuses a file that cannot be read. @param path undefined if the URL does not have the parameter @throws ConfigError */
function refuseUnreadable(setting: string, parameter: string, path: string | undefined): void {
  if (!path) return;
  try {
    accessSync(path, constants.R_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigError(`The file that ${setting} names as ${parameter} cannot be read (${code}).`);
  }
}

/**
 * Returns the URL of a mail server with its TLS option. An `smtp:` URL of another machine gets `requireTLS=true`: STARTTLS is then
 * required. `requireTLS=false` in the URL disables this (docs/decisions/0029).
 * @throws ConfigError if the URL of another machine has `tls.rejectUnauthorized`
 */
function smtpUrlWithTls(setting: string, url: URL): string {
  if (isLoopbackHost(url.hostname)) return url.href;
  if (url.searchParams.has('tls.rejectUnauthorized')) {
    throw new ConfigError(
      `${setting} must not have tls.rejectUnauthorized: the certificate of a mail server is always verified. If a private CA signed it, set tls.ca to the certificate of the CA.`,
    );
  }
  if (url.protocol !== 'smtp:') return url.href;
  if (url.searchParams.getAll('requireTLS').join() !== 'false') url.searchParams.set('requireTLS', 'true');
  return url.href;
}
