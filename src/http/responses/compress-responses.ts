import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyInstance, onSendAsyncHookHandler } from 'fastify';

/** Shorter responses are not compressed, because compression would save little. */
const MIN_COMPRESSED_BYTES = 400;
// Most responses are compressed while their client waits, so speed matters more than size: the best quality takes 15 times as
// long, for 6 % less.
const PER_REQUEST_OPTIONS = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };

const [brotliAsync, gzipAsync] = [promisify(brotliCompress), promisify(gzip)];
const ENCODERS = {
  br: (text: string, isSharedText: boolean) => brotliAsync(text, isSharedText ? {} : PER_REQUEST_OPTIONS),
  gzip: (text: string) => gzipAsync(text),
};

/**
 * The routes whose responses are compressed: all reads of the portal and of the staff API, the search for licenses, and the public
 * data of the pages.
 */
const COMPRESSED_ROUTES =
  /^(GET \/(portal\/api\/|support\/api\/|languages|brand$|privacy\/data)|POST \/support\/api\/licenses\/search$)/;
/** Texts of pages and the brand are the same for all clients: each encoder compresses them once, brotli with its best quality. */
const SHARED_TEXT_ROUTES = /^\/(languages|brand$)/;

/**
 * Compresses the responses of COMPRESSED_ROUTES, none of which contains a secret (docs/decisions/0039). A stream is not compressed,
 * such as the export of the audit trail. Most responses of other routes are short. Some contain a token: the length of a compressed
 * response that also contains text of an attacker could reveal the token.
 */
export function compressResponses(fastify: FastifyInstance): void {
  // The hook is added to these routes only, so that it does not run for other requests, such as heartbeats.
  fastify.addHook('onRoute', (route) => {
    if (!COMPRESSED_ROUTES.test(`${String(route.method)} ${route.url}`)) return;
    route.onSend = [...[route.onSend ?? []].flat(), compressWith(encoderOf(route.url))];
  });
}

type Encode = (encoding: keyof typeof ENCODERS, text: string) => Promise<Buffer>;

function encoderOf(url: string): Encode {
  if (!SHARED_TEXT_ROUTES.test(url)) return (encoding, text) => ENCODERS[encoding](text, false);
  // The service has one text for each language and page, so there are few entries.
  const compressed = new Map<string, Promise<Buffer>>();
  return (encoding, text) => {
    const key = `${encoding} ${text}`;
    const earlier = compressed.get(key);
    if (earlier) return earlier;
    const made = ENCODERS[encoding](text, true);
    compressed.set(key, made);
    // A failure is not kept: the next response compresses the text again.
    made.catch(() => compressed.delete(key));
    return made;
  };
}

const compressWith =
  (encode: Encode): onSendAsyncHookHandler =>
  async (request, reply, payload) => {
    if (typeof payload !== 'string' || Buffer.byteLength(payload) < MIN_COMPRESSED_BYTES) return payload;
    const vary = [reply.getHeader('vary') ?? [], 'accept-encoding'].flat().join(', ');
    void reply.header('vary', vary);
    const encoding = acceptedEncoding(request.headers['accept-encoding']);
    if (!encoding) return payload;
    const compressed = await encode(encoding, payload);
    // If the compression fails, the error is sent without this header.
    void reply.header('content-encoding', encoding).removeHeader('content-length');
    return compressed;
  };

/**
 * Returns `br` if an `accept-encoding` header names it, otherwise `gzip` if the header names it. A quality of 0
 * excludes an encoding; other qualities and `*` are ignored.
 */
function acceptedEncoding(header: string | string[] | undefined): keyof typeof ENCODERS | undefined {
  const accepted = new Set(
    String(header ?? '')
      .toLowerCase()
      .split(',')
      .map((entry) => entry.split(';').map((part) => part.trim()))
      .filter(([, quality]) => !/^q=0(\.0*)?$/.test(quality ?? ''))
      .map(([name]) => name),
  );
  return (['br', 'gzip'] as const).find((name) => accepted.has(name));
}
