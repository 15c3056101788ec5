import { connect, createServer, type Server, type Socket } from 'node:net';
import { listen } from '../support/listen.js';
import { afterThisFile } from '../support/of-this-file.js';

/** Which of the free connections to PostgreSQL executes a statement: the one that was used most or least recently. */
export type ReuseOrder = 'most recently' | 'least recently';

/**
 * A connection pooler in transaction mode: each transaction, and each statement outside a transaction, is executed on a free
 * connection to PostgreSQL. A new client authenticates over a new connection, which the pooler then uses for all clients.
 */
export class Pooler {
  readonly #server: Server;
  readonly #free: Upstream[] = [];
  readonly #sockets = new Set<Socket>();

  constructor(
    readonly target: string,
    readonly order: ReuseOrder,
  ) {
    this.#server = createServer((client) => this.#serve(client));
  }

  async open(): Promise<string> {
    const url = new URL(this.target);
    url.port = String(await listen(this.#server));
    afterThisFile(() => this.#sockets.forEach((socket) => socket.destroy()));
    return url.href;
  }

  #serve(client: Socket): void {
    let upstream: Upstream | undefined = new Upstream(
      connect(Number(new URL(this.target).port), '127.0.0.1'),
    );
    for (const socket of [client, upstream.socket]) {
      this.#sockets.add(socket.on('error', () => undefined));
    }
    const assign = (assigned: Upstream) => {
      upstream = assigned;
      assigned.onAnswer = (bytes, isIdle) => {
        // The connection is freed before the response is sent, because the next statement of the client may follow at once.
        if (isIdle) {
          this.#free.push(assigned);
          upstream = undefined;
        }
        client.write(bytes);
      };
    };
    assign(upstream);
    client.on('data', (bytes) => {
      // A Terminate message ends the connection of the client, not that to PostgreSQL.
      if (!upstream && bytes[0] === 'X'.charCodeAt(0)) return;
      if (!upstream) assign((this.order === 'most recently' ? this.#free.pop() : this.#free.shift())!);
      upstream!.socket.write(bytes);
    });
  }
}

/** A connection to PostgreSQL. Each answer ends with the message ReadyForQuery, which contains the state of the transaction. */
class Upstream {
  /** Called with complete messages. `isIdle` says whether the connection is outside a transaction and waits for a statement. */
  onAnswer: (bytes: Buffer, isIdle: boolean) => void = () => undefined;
  #received = Buffer.alloc(0);

  constructor(readonly socket: Socket) {
    socket.on('data', (bytes) => {
      this.#received = Buffer.concat([this.#received, bytes]);
      let end = 0;
      let isIdle = false;
      // A message is one byte for its type, and four for its length, which does not include the type.
      while (
        this.#received.length >= end + 5 &&
        this.#received.length > end + this.#received.readUInt32BE(end + 1)
      ) {
        isIdle =
          this.#received.toString('latin1', end, end + 1) === 'Z' &&
          this.#received[end + 5] === 'I'.charCodeAt(0);
        end += 1 + this.#received.readUInt32BE(end + 1);
      }
      const complete = this.#received.subarray(0, end);
      this.#received = this.#received.subarray(end);
      if (complete.length > 0) this.onAnswer(complete, isIdle);
    });
  }
}
