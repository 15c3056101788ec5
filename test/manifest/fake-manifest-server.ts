import type { ServerResponse } from 'node:http';
import { serve } from '../support/listen.js';

/**
 * Starts a server in place of the service, until the end of the test file. @param answer receives the number of earlier requests
 * @returns its base URL, as PUBLIC_URL, and the number of its requests so far
 */
export async function startFakeServer(answer: (response: ServerResponse, earlierRequests: number) => void) {
  const server = { url: '', requestCount: 0 };
  server.url = await serve((_request, response) => answer(response, server.requestCount++));
  return server;
}

/** Starts a server that always serves this document. */
export const serveDocument = (document: unknown) =>
  startFakeServer(
    (response) => void response.end(typeof document === 'string' ? document : JSON.stringify(document)),
  );
