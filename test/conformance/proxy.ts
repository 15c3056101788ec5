import { once } from 'node:events';
import { createServer, request, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** What was asked of the service, and what it answered: a fault changes the answer in place. */
export interface Exchange {
  readonly method: string;
  readonly path: string;
  /** The parsed body of the request, empty where it is no JSON. */
  // oxlint-disable-next-line no-explicit-any -- whatever the checks send
  readonly asked: any;
  readonly askedBytes: Buffer;
  readonly askedHeaders: IncomingHttpHeaders;
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

export type Fault = (exchange: Exchange) => void;

/** A service that has one fault: everything goes to the real one, and comes back changed. */
export class FaultyService {
  fault: Fault = () => undefined;
  requests = 0;

  readonly #server = createServer(async (asking, answering) => {
    this.requests += 1;
    const [method, path] = [asking.method!, asking.url!];
    const askedBytes = await buffer(asking);
    const there = request(this.service + path, { method, headers: asking.headers, agent: false });
    there.end(askedBytes);
    const [answer] = await once(there, 'response');
    const exchange: Exchange = {
      method,
      path,
      asked: parsed(askedBytes),
      askedBytes,
      askedHeaders: asking.headers,
      status: answer.statusCode,
      headers: answer.headers,
      body: await buffer(answer),
    };
    this.fault(exchange);
    // A fault may have changed the length, of which HEAD tells nothing here.
    const hasBody = method !== 'HEAD' && exchange.status !== 304;
    exchange.headers['content-length'] = hasBody ? String(exchange.body.length) : undefined;
    const headers = Object.entries(exchange.headers).filter(([, value]) => value !== undefined);
    answering.writeHead(exchange.status, { ...Object.fromEntries(headers), connection: 'close' });
    answering.end(exchange.body);
  });

  private constructor(private readonly service: string) {}

  static async before(service: string): Promise<FaultyService> {
    const faulty = new FaultyService(service);
    faulty.#server.listen(0, '127.0.0.1');
    await once(faulty.#server, 'listening');
    return faulty;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString()) ?? {};
  } catch {
    return {};
  }
}
