import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { ServeStaticModuleOptions } from '@nestjs/serve-static';
import { Config } from '../core/config.js';

/** The folder of the built pages. The relative path is the same from `src` and from `dist`. */
const FOLDER = fileURLToPath(new URL('../../web/dist', import.meta.url));

const YEAR_SECONDS = 31_536_000;

/** A page may load files of this service (and images in `data:` URLs) and send requests to it, nothing else. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

/**
 * Headers of the HTML files only, because they would have no effect in the responses of the files that a page loads. They are added
 * to SECURITY_HEADERS and replace headers of the same name.
 */
const PAGE_HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()',
};

/** The file of a page, or a compressed copy of it. */
const PAGE_FILE = /\.html(\.\w+)?$/;

/** Whether the pages are built. Without pages the rest of the service works, and the URLs of pages are `not_found`. */
export const pagesAreBuilt = () => existsSync(join(FOLDER, 'portal/index.html'));

/** What to do if the pages are missing. Only a checkout can build them. */
export const missingPagesRemedy = () =>
  existsSync(join(FOLDER, '../../vite.config.ts')) ? 'run npm run build' : 'unpack the archive again';

/**
 * Returns the options of the module that serves `/portal/`, `/support/`, `/privacy/`, their files, and `/licenses.md` with the
 * licenses of bundled packages. Each file has a route of its own; no other URL is answered with a page.
 */
export function staticPagesOptions(config: Config): ServeStaticModuleOptions {
  // A browser that has received this header does not connect without TLS for a year.
  const tlsHeader = config.publicUrl.startsWith('https:')
    ? { 'strict-transport-security': `max-age=${YEAR_SECONDS}` }
    : {};
  return {
    rootPath: FOLDER,
    // The module would answer every unknown URL that matches this path with a page. The path matches no URL.
    renderPath: '/:never((?!))',
    serveStaticOptions: {
      decorateReply: false,
      redirect: true,
      preCompressed: true,
      cacheControl: false,
      lastModified: false,
      acceptRanges: false,
      setHeaders: (reply: FastifyReply, path: string) => {
        void reply.headers({
          ...(PAGE_FILE.test(path) ? PAGE_HEADERS : undefined),
          ...tlsHeader,
          'cross-origin-resource-policy': 'same-origin',
          'cache-control': isImmutable(path) ? `public, max-age=${YEAR_SECONDS}, immutable` : 'no-cache',
        });
        // No browser asks whether such a file has changed.
        if (isImmutable(path)) void reply.removeHeader('etag');
      },
    },
  };
}

/** The paths of the pages without their last slash. */
const PATHS_WITHOUT_SLASH = ['/portal', '/privacy', '/support'];

/** Makes the redirects from PATHS_WITHOUT_SLASH relative, because PUBLIC_URL may have a path. */
export function redirectRelatively(fastify: FastifyInstance): void {
  fastify.addHook('onRoute', (route) => {
    if (!PATHS_WITHOUT_SLASH.includes(route.url)) return;
    route.onSend = (_request, reply, payload, done) => {
      const location = reply.getHeader('location');
      if (typeof location === 'string') void reply.header('location', location.slice(1));
      done(null, payload);
    };
  });
}

/**
 * Removes `if-match` from reads, because only changes have a precondition. Otherwise the module of the pages would answer 412, for
 * which there is no problem.
 */
export function ignoreIfMatchOfReads(fastify: FastifyInstance): void {
  fastify.addHook('onRequest', ({ method, headers }, _reply, done) => {
    if (method === 'GET' || method === 'HEAD') delete headers['if-match'];
    done();
  });
}

/**
 * A file with a hash in its name never changes. A page refers to the newest of these files, so browsers request the page each time.
 */
const isImmutable = (path: string) => path.startsWith(join(FOLDER, 'assets'));
