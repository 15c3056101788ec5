import type { FastifyReply, FastifyRequest } from 'fastify';
import { Config } from '../../core/config.js';

/**
 * All cookies. `holder` and `staff` are sessions, which end with the browser. `code` (the id of the requested sign-in code) and
 * `challenge` (the id of a passkey challenge) have a lifetime.
 */
export type CookieName = 'holder' | 'code' | 'staff' | 'challenge';

/** Returns the value of a cookie; undefined if the request has none. */
export function readCookie(request: FastifyRequest, config: Config, name: CookieName): string | undefined {
  return request.cookies[fullName(config, name)];
}

/**
 * Sets a cookie that scripts cannot read, and that browsers do not send with requests from other sites.
 * @param seconds the lifetime of the cookie; if undefined, it ends with the browser
 */
export function setCookie(
  reply: FastifyReply,
  config: Config,
  name: CookieName,
  value: string,
  seconds?: number,
): void {
  reply.setCookie(fullName(config, name), value, { ...settings(config), maxAge: seconds });
}

/** Removes a cookie from the browser. */
export function clearCookie(reply: FastifyReply, config: Config, name: CookieName): void {
  reply.clearCookie(fullName(config, name), settings(config));
}

const isSecure = ({ publicUrl }: Config) => publicUrl.startsWith('https:');

// A browser sends a cookie with the prefix `__Host-` only to this host, and only over TLS (docs/contract.md#portal).
const fullName = (config: Config, name: CookieName) => `${isSecure(config) ? '__Host-' : ''}mooring_${name}`;

const settings = (config: Config) =>
  ({ path: '/', httpOnly: true, sameSite: 'strict', secure: isSecure(config) }) as const;
