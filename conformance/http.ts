import http, { type IncomingHttpHeaders } from 'node:http';
import https from 'node:https';

const MAX_ANSWER_BYTES = 1024 * 1024;

/** An answer as it was received: unlike with `fetch`, no redirect is followed and nothing is decompressed. */
export interface Answer {
  /** Method and path of the request: `POST /v1/activate`. */
  readonly request: string;
  /** The texts of the request, which no refusal may repeat. */
  readonly sent: readonly string[];
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The parsed body; undefined if it is not JSON or not declared as JSON. */
  readonly json: unknown;
}

export interface RequestOptions {
  /** An object is sent as JSON; a text or bytes are sent unchanged. */
  readonly body?: object | string | Uint8Array;
  readonly headers?: Record<string, string>;
  /** Texts of a raw body or of the path that no refusal may repeat. The texts in an object are added automatically. */
  readonly sent?: readonly string[];
}

/** Thrown if no answer was received; its message says why. */
export class NoAnswer extends Error {}

/** Sends a request on a new connection, with the given headers, those that HTTP requires, and for a body the type JSON. */
export async function ask(
  base: string,
  method: string,
  path: string,
  options: RequestOptions,
  timeoutMs: number,
): Promise<Answer> {
  const url = new URL(base + path);
  const bytes = bytesOf(options.body);
  const headers = {
    ...(bytes && { 'content-type': 'application/json', 'content-length': String(bytes.length) }),
    ...options.headers,
  };
  const { request } = url.protocol === 'https:' ? https : http;
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    return await new Promise((resolve, reject) => {
      const outgoing = request(url, { method, headers, signal, agent: false }, (response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          if ((size += chunk.length) > MAX_ANSWER_BYTES)
            response.destroy(new Error('its answer is larger than 1 MiB'));
        });
        response.on('error', reject);
        response.on('end', () => {
          const body = Buffer.concat(chunks);
          resolve({
            request: `${method} ${path.replace(/\?.*/, '')}`,
            sent: [...(options.sent ?? []), ...textsOf(options.body)],
            status: response.statusCode ?? 0,
            headers: response.headers,
            body,
            json: jsonOf(response.headers, body),
          });
        });
      });
      outgoing.on('error', reject);
      outgoing.end(bytes);
    });
  } catch (error) {
    const why = signal.aborted ? `nothing within ${timeoutMs / 1000} seconds` : reasonOf(error);
    throw new NoAnswer(`${method} ${path.slice(0, 60)} got no answer: ${why}.`);
  }
}

/** The parsed body of an answer; undefined if it is not JSON or not declared as JSON. */
export function jsonOf(headers: IncomingHttpHeaders, body: Buffer): unknown {
  const type = headers['content-type'] ?? '';
  return /^application\/([\w.-]+\+)?json\b/i.test(type) ? parseJson(body) : undefined;
}

export function bytesOf(body: RequestOptions['body']): Buffer | undefined {
  if (body === undefined) return undefined;
  if (typeof body === 'string' || body instanceof Uint8Array) return Buffer.from(body);
  return Buffer.from(JSON.stringify(body));
}

/** Returns the texts in a body. Texts below 8 characters are left out, because an answer may contain them by chance. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return value.length >= 8 ? [value] : [];
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return [];
  return Object.values(value).flatMap(textsOf);
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

function reasonOf(error: unknown): string {
  // A host name with several addresses has one error for each.
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  return first instanceof Error ? first.message : String(first);
}
