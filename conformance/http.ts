import http, { type IncomingHttpHeaders } from 'node:http';
import https from 'node:https';

const MAX_ANSWER_BYTES = 1024 * 1024;

/** An answer as it came: nothing followed, unpacked or forgiven, as fetch would. */
export interface Answer {
  /** What was asked: `POST /v1/activate`. */
  readonly request: string;
  /** Every text of the request that no refusal may repeat. */
  readonly sent: readonly string[];
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The parsed body; undefined where it is no JSON or not declared as such. */
  readonly json: unknown;
}

export interface Question {
  /** An object is sent as JSON; a text or bytes go as they are. */
  readonly body?: object | string | Uint8Array;
  readonly headers?: Record<string, string>;
  /** What of a raw body, or of the path, must never be repeated; of an object it is found. */
  readonly sent?: readonly string[];
}

/** Thrown where no answer came; its sentence says why. */
export class NoAnswer extends Error {}

/** Makes a request on a connection of its own, with nothing but what it is given and what HTTP demands. */
export async function ask(
  base: string,
  method: string,
  path: string,
  question: Question,
  timeoutMs: number,
): Promise<Answer> {
  const url = new URL(base + path);
  const bytes = bytesOf(question.body);
  const headers = {
    ...(bytes && { 'content-type': 'application/json', 'content-length': String(bytes.length) }),
    ...question.headers,
  };
  const { request } = url.protocol === 'https:' ? https : http;
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    return await new Promise((resolve, reject) => {
      const asking = request(url, { method, headers, signal, agent: false }, (response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          if ((size += chunk.length) > MAX_ANSWER_BYTES) response.destroy(new Error('its answer has no end'));
        });
        response.on('error', reject);
        response.on('end', () => {
          const body = Buffer.concat(chunks);
          const type = response.headers['content-type'] ?? '';
          resolve({
            request: `${method} ${path.replace(/\?.*/, '')}`,
            sent: [...(question.sent ?? []), ...textsOf(question.body)],
            status: response.statusCode ?? 0,
            headers: response.headers,
            body,
            json: /^application\/([\w.-]+\+)?json\b/i.test(type) ? parsed(body) : undefined,
          });
        });
      });
      asking.on('error', reject);
      asking.end(bytes);
    });
  } catch (error) {
    const why = signal.aborted ? `nothing within ${timeoutMs / 1000} seconds` : reason(error);
    throw new NoAnswer(`${method} ${path.slice(0, 60)} got no answer: ${why}.`);
  }
}

function bytesOf(body: Question['body']): Buffer | undefined {
  if (body === undefined) return undefined;
  if (typeof body === 'string' || body instanceof Uint8Array) return Buffer.from(body);
  return Buffer.from(JSON.stringify(body));
}

/** Short texts are left out: an answer may hold them by itself. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return value.length >= 8 ? [value] : [];
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return [];
  return Object.values(value).flatMap(textsOf);
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

function reason(error: unknown): string {
  // Where a name has several addresses, each has an error of its own.
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  return first instanceof Error ? first.message : String(first);
}
