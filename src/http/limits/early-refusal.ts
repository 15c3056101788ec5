import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Only heartbeats are refused before they are parsed: no person waits for them, and most requests of clients are heartbeats. */
const BACKGROUND_REQUEST = 'POST /v1/heartbeat ';
const END_OF_HEADERS = '\r\n\r\n';
const CONTENT_LENGTH = /\r\ncontent-length: *(\d{1,9})\r\n/i;
/** A request of this size or more is passed to the parser. */
const MAX_REQUEST_BYTES = 16 * 1024;
/** A request that is not complete within this time is passed to the parser: Node's own limit for slow senders then applies. */
const MAX_ARRIVAL_MS = 1_000;

/** What `refuseEarly` needs to know. */
interface EarlyRefusal {
  /** Called for each connection. @returns whether its request may be refused before it is parsed */
  readonly mayRefuse: () => boolean;
  /** Called when a heartbeat has arrived. @returns the bytes of the refusal; undefined if the request is accepted */
  readonly refusal: () => string | undefined;
}

/**
 * While the service sheds load, refuses the heartbeats of new connections before Node parses them: this takes about a third of the
 * time of a refusal after the parser. Their connections are closed. Every other request goes to Node's own listener, with the bytes
 * that were read. Only requests that have arrived completely are refused, because the kernel resets a connection that is closed
 * with unread bytes, and the client would lose the response.
 */
export function refuseEarly(server: Server, { mayRefuse, refusal }: EarlyRefusal): void {
  const parsers = server.listeners('connection');
  server.removeAllListeners('connection');
  const parse = (socket: Socket) => {
    for (const parser of parsers) parser.call(server, socket);
  };
  server.on('connection', (socket: Socket) => {
    if (!mayRefuse()) return parse(socket);
    readHeartbeat(
      socket,
      (isHeartbeat) => {
        const bytes = isHeartbeat ? refusal() : undefined;
        if (bytes === undefined) return false;
        socket.write(bytes);
        // The response has reached the kernel, which sends it before the end of the connection.
        if (socket.writableLength === 0) socket.destroy();
        else socket.destroySoon();
        return true;
      },
      parse,
    );
  });
}

// Reads until a heartbeat is complete, or until the bytes show that the parser must read this request. If `decide` returns false,
// the parser gets the connection, as if nothing had been read.
function readHeartbeat(
  socket: Socket,
  decide: (isHeartbeat: boolean) => boolean,
  parse: (socket: Socket) => void,
): void {
  let received = '';
  let isComplete = false;
  let isEnded = false;
  const finish = (isHeartbeat: boolean) => {
    if (isEnded || socket.destroyed) return;
    isEnded = true;
    clearTimeout(timer);
    socket.off('data', read).off('end', close);
    if (decide(isHeartbeat)) return;
    socket.off('error', ignore);
    // While a socket has no listener for data, `unshift` keeps the bytes: the parser receives them when it adds its listener.
    if (received) socket.unshift(Buffer.from(received, 'latin1'));
    parse(socket);
  };
  // The timeout of a socket would start again with each byte.
  const timer = setTimeout(() => finish(false), MAX_ARRIVAL_MS).unref();
  // The client does not wait for a response any more.
  const close = () => void socket.destroy();
  const read = (chunk: Buffer) => {
    received += chunk.toString('latin1');
    const total = lengthOf(received);
    if (total === undefined) finish(false);
    else if (received.length >= total && !isComplete) {
      isComplete = true;
      // The inner callback runs at the end of the next turn of the event loop. If the client has given up, that turn has destroyed
      // the socket, and no answer is needed. Such a turn costs far less than an answer that no client reads.
      setImmediate(() => setImmediate(() => finish(true)));
    }
  };
  socket.on('error', ignore).on('data', read).on('end', close);
}

const ignore = () => undefined;

// Returns the length of the heartbeat that begins with these bytes: Infinity until its headers are complete, and undefined for a
// request to leave to the parser, which is another request, one of 16 KiB or more, or one without a content-length.
function lengthOf(received: string): number | undefined {
  const begins = received.slice(0, BACKGROUND_REQUEST.length);
  if (!BACKGROUND_REQUEST.startsWith(begins)) return undefined;
  const end = received.indexOf(END_OF_HEADERS);
  if (end < 0) return received.length < MAX_REQUEST_BYTES ? Infinity : undefined;
  const length = CONTENT_LENGTH.exec(received.slice(0, end + 2))?.[1];
  const total = end + END_OF_HEADERS.length + Number(length);
  // Without the header `content-length`, `total` is NaN, and the comparison is false.
  return total < MAX_REQUEST_BYTES ? total : undefined;
}
