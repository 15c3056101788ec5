import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * The headers that the service and its libraries read. All others are removed, because a proxy may send the address of a client in
 * a header of any name.
 */
const READ_HEADERS: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'accept-language',
  'authorization',
  'cache-control',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'cookie',
  'expect',
  'host',
  'idempotency-key',
  'if-match',
  'if-none-match',
  'origin',
  'sec-fetch-site',
  'staff-id',
  'transfer-encoding',
  'webhook-id',
  'webhook-signature',
  'webhook-timestamp',
]);

/**
 * Hides a client's address from the code that handles requests, so that it cannot be logged or stored
 * (docs/privacy.md#client-address). These listeners run before those of Fastify. Three kinds of requests are handled before
 * their headers are removed: GET and HEAD of the manifest (`servePrepared`, docs/decisions/0017), requests with the method `PRI`
 * (`handleMalformedRequests`), and heartbeats that are refused before Node parses them (`refuseEarly`). None of these functions
 * uses a header that may contain an address.
 */
export function stripClientAddress(server: Server): void {
  server.prependListener('connection', hideAddress);
  server.prependListener('request', removeUnreadHeaders);
}

/**
 * Properties that hide the address of the client. They are on a prototype, because a socket with many properties of its own is
 * slower.
 */
const ADDRESS_HIDING_PROPERTIES = {
  remoteAddress: { get: () => undefined },
  remotePort: { get: () => undefined },
  remoteFamily: { get: () => undefined },
  // Node's own getters, which the properties above replace, read the address from this function and this cache.
  _getpeername: { value: () => ({}) },
  _peername: { value: {} },
};
let hidingPrototype: object | undefined;
/** Replaces the native function that reads the address of a socket. It returns an error code and no address. */
const failWithoutAddress = () => -1;

function hideAddress(socket: Socket): void {
  const handle = Reflect.get(socket, '_handle') as { getpeername: () => number } | undefined;
  if (handle) handle.getpeername = failWithoutAddress;
  hidingPrototype ??= Object.create(
    Object.getPrototypeOf(socket) as object,
    ADDRESS_HIDING_PROPERTIES,
  ) as object;
  Object.setPrototypeOf(socket, hidingPrototype);
}

/** Replaces Node's `headersDistinct`, which has all headers too. Nothing reads it, so it is empty. */
const NO_HEADERS = Object.freeze({});

function removeUnreadHeaders(request: IncomingMessage): void {
  const { headers: all, rawHeaders: allRaw } = request;
  const headers: IncomingMessage['headers'] = {};
  const rawHeaders: string[] = [];
  for (let index = 0; index < allRaw.length; index += 2) {
    const rawName = allRaw[index]!;
    const name = rawName.toLowerCase();
    if (!READ_HEADERS.has(name)) continue;
    headers[name] = all[name];
    rawHeaders.push(rawName, allRaw[index + 1]!);
  }
  // Almost every request has headers to remove. To delete them from the objects of Node would take twice as long as new objects.
  request.headers = headers;
  request.rawHeaders = rawHeaders;
  request.headersDistinct = NO_HEADERS;
}
