import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyReply } from 'fastify';
import type { ServeStaticModuleOptions } from '@nestjs/serve-static';
import { Config } from '../core/config.js';

/** Where the build lays the pages down; as far from here in the sources as in `dist`. */
const FOLDER = fileURLToPath(new URL('../../web/dist', import.meta.url));

const YEAR_SECONDS = 31_536_000;

/** All that a page may do: run and show its own files, and speak with this service. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

/** On a page and its files, beside what every answer carries (address-amnesia.ts). */
const HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy':
    'camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=(), ' +
    'publickey-credentials-create=(self), publickey-credentials-get=(self)',
};

/** Whether the build has made the pages; without them the service works, and their addresses are unknown ones. */
export const pagesAreBuilt = () => existsSync(join(FOLDER, 'portal/index.html'));

/**
 * `/portal/`, `/support/`, `/privacy/`, their files, and `/licenses.md` of what these bundle, each a route of its own:
 * nothing else is answered by a page.
 */
export function pages(config: Config): ServeStaticModuleOptions {
  // A browser that was here once over TLS never comes without it again; said only where TLS is.
  const transport = config.publicUrl.startsWith('https:')
    ? { 'strict-transport-security': `max-age=${YEAR_SECONDS}` }
    : {};
  return {
    rootPath: FOLDER,
    // The module also registers a fallback of its own, which would answer every unknown address: one that matches none.
    renderPath: '/:never((?!))',
    serveStaticOptions: {
      decorateReply: false,
      redirect: true,
      preCompressed: true,
      cacheControl: false,
      lastModified: false,
      acceptRanges: false,
      setHeaders: (reply: FastifyReply, path: string) => {
        void reply.headers({ ...HEADERS, ...transport, 'cache-control': cacheControl(path) });
      },
    },
  };
}

// A file whose name holds its hash never changes; a page names the newest of them, so it is asked for anew each time.
function cacheControl(path: string): string {
  return path.startsWith(join(FOLDER, 'assets')) ? `public, max-age=${YEAR_SECONDS}, immutable` : 'no-cache';
}
