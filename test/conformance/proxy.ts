import { once } from 'node:events';
import { createServer, request, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterThisFile } from '../support/of-this-file.js';

/** A request and the service's answer, which a fault changes in place. */
export interface Exchange {
  readonly method: string;
  readonly path: string;
  /** The parsed body of the request; an empty object if it is null or not JSON. */
  // oxlint-disable-next-line no-explicit-any -- the checks send bodies of any shape
  readonly requestBody: any;
  readonly requestBytes: Buffer;
  readonly requestHeaders: IncomingHttpHeaders;
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

export type Fault = (exchange: Exchange) => void;

/** A service with one fault: it forwards each request to the real service and changes the answer. */
export class FaultyService {
  fault: Fault = () => undefined;
  requestCount = 0;

  readonly #server = createServer(async (incoming, response) => {
    this.requestCount += 1;
    const [method, path] = [incoming.method!, incoming.url!];
    const requestBytes = await buffer(incoming);
    const forwarded = request(this.serviceUrl + path, { method, headers: incoming.headers, agent: false });
    forwarded.end(requestBytes);
    const [answer] = await once(forwarded, 'response');
    const exchange: Exchange = {
      method,
      path,
      requestBody: parseJson(requestBytes),
      requestBytes,
      requestHeaders: incoming.headers,
      status: answer.statusCode,
      headers: answer.headers,
      body: await buffer(answer),
    };
    this.fault(exchange);
    // A fault may have changed the length. An answer to HEAD and a 304 have no content-length here.
    const hasBody = method !== 'HEAD' && exchange.status !== 304;
    exchange.headers['content-length'] = hasBody ? String(exchange.body.length) : undefined;
    const headers = Object.entries(exchange.headers).filter(([, value]) => value !== undefined);
    response.sendDate = false;
    response.writeHead(exchange.status, { ...Object.fromEntries(headers), connection: 'close' });
    response.end(exchange.body);
  });

  private constructor(private readonly serviceUrl: string) {}

  static async start(serviceUrl: string): Promise<FaultyService> {
    const faulty = new FaultyService(serviceUrl);
    faulty.#server.listen(0, '127.0.0.1');
    await once(faulty.#server, 'listening');
    afterThisFile(() => faulty.#close());
    return faulty;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async #close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString()) ?? {};
  } catch {
    return {};
  }
}
