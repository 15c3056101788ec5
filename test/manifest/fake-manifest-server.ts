import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface FakeServer extends AsyncDisposable {
  /** The base, as PUBLIC_URL is one. */
  readonly url: string;
  /** How often it was asked. */
  readonly asked: number;
}

/** A server in place of the service: a cache, a wrong server. @param answer receives how often it was asked before */
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

/** One that serves this document to each caller. */
export const serving = (document: unknown) =>
  fakeServer(
    (response) => void response.end(typeof document === 'string' ? document : JSON.stringify(document)),
  );
