import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PROBLEMS, problem, problemDocument, type ProblemCode } from '../src/http/problems/problem.js';

/** An answer of the upstream server. It is sent unchanged. */
export interface UpstreamAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** An upstream server for Prism in place of the service. It answers each request with `answer`. */
export class Upstream {
  answer: UpstreamAnswer = { status: 204, headers: {}, text: '' };
  /** The last request that was received. */
  received:
    { readonly method: string; readonly path: string; readonly headers: IncomingHttpHeaders } | undefined;
  url = '';
  readonly #server = createServer((request, response) => {
    this.received = { method: request.method!, path: request.url!, headers: request.headers };
    request.resume().once('end', () => this.#respond(response));
  });

  static async start(): Promise<Upstream> {
    const upstream = new Upstream();
    upstream.#server.listen(0, '127.0.0.1');
    await once(upstream.#server, 'listening');
    upstream.url = `http://127.0.0.1:${(upstream.#server.address() as AddressInfo).port}`;
    return upstream;
  }

  #respond(response: ServerResponse): void {
    const { status, headers, text } = this.answer;
    response.writeHead(status, { ...headers }).end(text);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

type Variant = readonly [members: Record<string, unknown>, headers?: Record<string, string>];

/** The additional members and headers of the codes that have any, one entry for each variant. */
const VARIANTS: Partial<Record<ProblemCode, readonly Variant[]>> = {
  invalid_request: [[{ errors: [{ pointer: '/email', detail: 'must be an e-mail address' }] }]],
  license_expired: [[{ expired_at: new Date('2026-11-01T00:00:00Z') }]],
  version_not_covered: [
    [
      {
        minimum_license_expiry: new Date('2027-01-04T00:00:00Z'),
        newest_covered_version: null,
        download_url: null,
      },
    ],
    [
      {
        minimum_license_expiry: new Date('2027-01-04T00:00:00Z'),
        newest_covered_version: '2.9.4',
        download_url: 'https://dl.example.com/App-2.9.4.dmg',
      },
    ],
  ],
  machine_limit_reached: [
    [
      {
        machines_allowed: 1,
        machines_in_use: 1,
        portal_url: 'https://licenses.example.org/shop/portal/',
        release_url:
          'https://licenses.example.org/shop/portal/#release=0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6.1795086600.4yJq0N3kVQ3m8y5rW1cYt7dEoZbXl2uHf9aGsKpTnRk&machine=Studio+Mac&version=3.2.0',
      },
    ],
  ],
  key_not_mailable: [[{ reason: 'not_made_here' }], [{ reason: 'refunded' }], [{ reason: 'erased' }]],
  idempotency_key_reused: [[{ license_id: '0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6' }]],
  manifest_refused: [
    [
      {
        reason:
          'This manifest is already live with other signatures: sign the version again with manifest refresh.',
      },
    ],
  ],
  too_many_requests: [[{}, { 'retry-after': '86400' }]],
  method_not_allowed: [[{}, { allow: 'GET, HEAD' }]],
};

/** @returns the service's answers with a code, one for each variant, with the headers that `ProblemFilter` sends */
export function problemAnswers(code: ProblemCode): UpstreamAnswer[] {
  return (VARIANTS[code] ?? [[{}]]).map(([members, headers]) => {
    const refusal = problem(code, members, headers);
    return {
      status: PROBLEMS[code].status,
      headers: {
        'content-type': 'application/problem+json; charset=utf-8',
        'cache-control': 'no-store',
        ...refusal.headers,
      },
      text: problemDocument(
        refusal,
        'https://licenses.example.org/shop',
        '0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f7',
      ),
    };
  });
}
