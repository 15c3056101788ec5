import { once } from 'node:events';
import { createServer, type RequestListener, type Server as HttpServer } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { afterThisFile } from './of-this-file.js';

/** Makes a server listen on a free port of 127.0.0.1. It is closed at the end of the test file. @returns the port */
export async function listen(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  afterThisFile(() => stopListening(server));
  return (server.address() as AddressInfo).port;
}

/** Closes a server, and its connections if it is one of HTTP. */
export function stopListening(server: Server & Partial<Pick<HttpServer, 'closeAllConnections'>>): void {
  server.close();
  server.closeAllConnections?.();
}

/** Starts a server of HTTP, which is closed at the end of the test file. @returns its URL */
export const serve = async (listener: RequestListener): Promise<string> =>
  `http://127.0.0.1:${await listen(createServer(listener))}`;
