import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface FakeServer extends AsyncDisposable {
  /** A base URL, as PUBLIC_URL. */
  readonly url: string;
  /** The number of requests. */
  readonly asked: number;
}

/** A server in place of the service. @param answer receives the number of earlier requests */
export async function fakeServer(
  answer: (response: ServerResponse, before: number) => void,
): Promise<FakeServer> {
  let asked = 0;
  const server = createServer((_request, response) => answer(response, asked++));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get asked() {
      return asked;
    },
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  };
}

/** A server that always serves this document. */
export const serving = (document: unknown) =>
  fakeServer(
    (response) => void response.end(typeof document === 'string' ? document : JSON.stringify(document)),
  );
