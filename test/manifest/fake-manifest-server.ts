import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface FakeServer extends AsyncDisposable {
  /** A base URL, as PUBLIC_URL. */
  readonly url: string;
  readonly requestCount: number;
}

/** Starts a server in place of the service. @param answer receives the number of earlier requests */
export async function startFakeServer(
  answer: (response: ServerResponse, earlierRequests: number) => void,
): Promise<FakeServer> {
  let requestCount = 0;
  const server = createServer((_request, response) => answer(response, requestCount++));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get requestCount() {
      return requestCount;
    },
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  };
}

/** Starts a server that always serves this document. */
export const serveDocument = (document: unknown) =>
  startFakeServer(
    (response) => void response.end(typeof document === 'string' ? document : JSON.stringify(document)),
  );
