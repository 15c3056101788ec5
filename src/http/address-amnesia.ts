import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Headers by which a proxy tells who called. */
const FORWARDING =
  /^(x-forwarded-.*|forwarded|x-real-ip|x-client-ip|x-cluster-client-ip|cf-connecting-ip(v6)?|true-client-ip|fastly-client-ip|fly-client-ip|via)$/i;

/** On every answer, also on those that Fastify's hooks never see. */
const SECURITY_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const;

/**
 * Makes the process unable to see a client's address: what is not there can be neither logged nor stored
 * (docs/privacy.md). The listeners stand before Fastify's own, so that nothing runs before them.
 */
export function forgetAddresses(server: Server): void {
  server.prependListener('connection', forgetPeer);
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    forgetForwarding(request);
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value);
  });
}

function forgetPeer(socket: Socket): void {
  const nothing = { get: () => undefined, configurable: false };
  Object.defineProperties(socket, {
    remoteAddress: nothing,
    remotePort: nothing,
    remoteFamily: nothing,
    // Where Node's own getters read from; it asks the handle once and keeps the answer.
    _getpeername: { value: () => ({}) },
    _peername: { value: {} },
  });
}

function forgetForwarding(request: IncomingMessage): void {
  for (const name of Object.keys(request.headers)) {
    if (FORWARDING.test(name)) delete request.headers[name];
  }
  const raw = request.rawHeaders;
  for (let index = raw.length - 2; index >= 0; index -= 2) {
    if (FORWARDING.test(raw[index]!)) raw.splice(index, 2);
  }
}
