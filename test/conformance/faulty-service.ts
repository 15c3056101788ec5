import type { IncomingHttpHeaders } from 'node:http';
import { Deployment, type License } from '../../conformance/deployment.ts';
import { bytesOf, jsonOf, type Answer, type RequestOptions } from '../../conformance/http.ts';

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

/**
 * A service whose answers a fault changes. A fault changes no request, so most runs send the same requests. They share recorded
 * answers: only the run that first sends a request for the n-th time gets the answer from the service; others get the recorded one.
 */
export class FaultyService {
  readonly #recorded = new Map<string, Promise<Answer>[]>();

  constructor(
    private readonly url: string,
    private readonly license: License,
  ) {}

  with(fault: Fault): Deployment {
    return new FaultyDeployment(this.url, this.license, { fault, recorded: this.#recorded });
  }
}

class FaultyDeployment extends Deployment {
  /** How often this run has sent each request. */
  readonly #sent = new Map<string, number>();

  constructor(
    url: string,
    license: License,
    private readonly faulty: { readonly fault: Fault; readonly recorded: Map<string, Promise<Answer>[]> },
  ) {
    super(url, license);
  }

  protected override async send(method: string, path: string, options: RequestOptions): Promise<Answer> {
    const answer = await this.#sendOnce(method, path, options);
    const requestBytes = bytesOf(options.body) ?? Buffer.alloc(0);
    const exchange: Exchange = {
      method,
      path,
      requestBody: jsonOf({ 'content-type': 'application/json' }, requestBytes) ?? {},
      requestBytes,
      requestHeaders: options.headers ?? {},
      status: answer.status,
      headers: { ...answer.headers },
      body: answer.body,
    };
    this.faulty.fault(exchange);
    const { status } = exchange;
    const headers = Object.fromEntries(
      Object.entries(exchange.headers).filter(([, value]) => value !== undefined),
    );
    const hasBody = method !== 'HEAD' && status !== 304;
    const body = hasBody ? exchange.body : Buffer.alloc(0);
    return { ...answer, status, headers, body, json: jsonOf(headers, body) };
  }

  #sendOnce(method: string, path: string, options: RequestOptions): Promise<Answer> {
    const { recorded } = this.faulty;
    const bytes = bytesOf(options.body)?.toString('base64');
    const request = JSON.stringify([method, path, options.headers, bytes]);
    const count = this.#sent.get(request) ?? 0;
    this.#sent.set(request, count + 1);
    const answers = recorded.get(request) ?? [];
    recorded.set(request, answers);
    return (answers[count] ??= super.send(method, path, options));
  }
}
