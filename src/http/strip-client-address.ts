import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Headers by which a proxy tells who called, under whatever name: rather one too many than one too few. */
const FORWARDING =
  /forwarded|(client|real|remote|connecting|originating|user|true-client)-?(ip|addr)|external-address|^via$/i;

/** On every answer, also on those that Fastify's hooks never see. */
export const SECURITY_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const;

/**
 * Makes the process unable to see a client's address: what is not there can be neither logged nor stored
 * (docs/privacy.md#client-address). The listeners stand before Fastify's own, so that nothing runs before them.
 */
export function stripClientAddress(server: Server): void {
  server.prependListener('connection', forgetPeer);
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    forgetForwarding(request);
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value);
  });
}

/**
 * What hides who is at the other end of a socket. On a prototype, not on each: a socket with a dozen properties of its own is
 * slower at everything it does.
 */
const HIDING = {
  remoteAddress: { get: () => undefined },
  remotePort: { get: () => undefined },
  remoteFamily: { get: () => undefined },
  // Where the hidden getters read from, and where they would keep it.
  _getpeername: { value: () => ({}) },
  _peername: { value: {} },
};
let nobodysSocket: object | undefined;
const knowsNobody = () => -1;

function forgetPeer(socket: Socket): void {
  // And whence that would come: an error code, and nothing written.
  const handle = Reflect.get(socket, '_handle') as { getpeername: () => number } | undefined;
  if (handle) handle.getpeername = knowsNobody;
  nobodysSocket ??= Object.create(Object.getPrototypeOf(socket) as object, HIDING) as object;
  Object.setPrototypeOf(socket, nobodysSocket);
}

function forgetForwarding(request: IncomingMessage): void {
  const names = Object.keys(request.headers).filter((name) => FORWARDING.test(name));
  if (names.length === 0) return;
  // Made before the raw ones change, because Node makes them from as many as it has read.
  const distinct = request.headersDistinct;
  for (const name of names) {
    delete request.headers[name];
    delete distinct[name];
  }
  const raw = request.rawHeaders;
  for (let index = raw.length - 2; index >= 0; index -= 2) {
    if (FORWARDING.test(raw[index]!)) raw.splice(index, 2);
  }
}
