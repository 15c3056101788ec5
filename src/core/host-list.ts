/** The parts of a URL: the scheme with the user name and the password, the hosts, and the rest. */
const PARTS = /^([^:]*:\/\/(?:[^/?#@]*@)?)([^/?#@]*)(.*)$/s;

/**
 * Splits a database URL with several hosts into a URL for each distinct host. libpq writes such a URL as
 * `postgres://user:password@db1:5432,db2:5432/mooring`, and `URL` refuses it. A URL with one host is returned unchanged.
 */
export function hostUrls(url: string): string[] {
  const [, start = '', hosts = '', rest = ''] = PARTS.exec(url) ?? [];
  if (!hosts.includes(',')) return [url];
  return [...new Set(hosts.split(',').map((host) => `${start}${host}${rest}`))];
}

/** Replaces the host of a URL by several hosts. @param hosts each with its port, if it has one */
export function withHosts(url: string, hosts: readonly string[]): string {
  return url.replace(
    PARTS,
    (_all, start: string, _host, rest: string) => `${start}${hosts.join(',')}${rest}`,
  );
}
