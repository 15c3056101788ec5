import cookiePlugin from '@fastify/cookie';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Config } from '../../core/config.js';

/** The cookies there are. The two of sessions go when the browser is closed; `code` and `challenge` end by themselves. */
export type CookieName = 'holder' | 'code' | 'staff' | 'challenge';

export async function registerCookies(fastify: FastifyInstance): Promise<void> {
  await fastify.register(cookiePlugin);
}

/** What a browser sent under a name of ours; undefined where nothing. */
export function readCookie(request: FastifyRequest, config: Config, name: CookieName): string | undefined {
  return request.cookies[fullName(config, name)];
}

/** Gives a browser a cookie that no script reads and no other site sends. `seconds`: how long; none: while it is open. */
export function setCookie(
  reply: FastifyReply,
  config: Config,
  name: CookieName,
  value: string,
  seconds?: number,
): void {
  reply.setCookie(fullName(config, name), value, { ...settings(config), maxAge: seconds });
}

export function takeCookieBack(reply: FastifyReply, config: Config, name: CookieName): void {
  reply.clearCookie(fullName(config, name), settings(config));
}

const isSecure = ({ publicUrl }: Config) => publicUrl.startsWith('https:');

// The prefix binds a cookie to this very host, over TLS; a browser refuses it elsewhere (docs/contract.md#portal).
const fullName = (config: Config, name: CookieName) => `${isSecure(config) ? '__Host-' : ''}mooring_${name}`;

const settings = (config: Config) =>
  ({ path: '/', httpOnly: true, sameSite: 'strict', secure: isSecure(config) }) as const;
