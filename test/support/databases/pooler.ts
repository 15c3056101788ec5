import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** Which free server process executes a statement: the last used, or the one that has been free longest. */
export type Order = 'last' | 'longest';

/**
 * A pooler in transaction mode: any free server process executes a statement outside a transaction. Each client authenticates
 * at PostgreSQL itself with a connection that is then used for all clients.
 */
export class Pooler {
  readonly #server: Server;
  readonly #free: Upstream[] = [];
  readonly #sockets = new Set<Socket>();

  constructor(
    readonly target: string,
    readonly order: Order,
  ) {
    this.#server = createServer((client) => this.#serve(client));
  }

  async open(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const url = new URL(this.target);
    url.port = String((this.#server.address() as AddressInfo).port);
    return url.href;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #serve(client: Socket): void {
    let upstream: Upstream | undefined = new Upstream(
      connect(Number(new URL(this.target).port), '127.0.0.1'),
    );
    for (const socket of [client, upstream.socket]) {
      this.#sockets.add(socket.on('error', () => undefined));
    }
    const serveBy = (one: Upstream) => {
      upstream = one;
      one.answer = (bytes, isIdle) => {
        // The process is freed before the response is sent, because the client's next statement may follow at once.
        if (isIdle) {
          this.#free.push(one);
          upstream = undefined;
        }
        client.write(bytes);
      };
    };
    serveBy(upstream);
    client.on('data', (bytes) => {
      // A Terminate message ends the client's connection, not the pooled one.
      if (!upstream && bytes[0] === 'X'.charCodeAt(0)) return;
      if (!upstream) serveBy((this.order === 'last' ? this.#free.pop() : this.#free.shift())!);
      upstream!.socket.write(bytes);
    });
  }
}

/** A connection to PostgreSQL. Each answer ends with ReadyForQuery, which has the state of the transaction. */
class Upstream {
  answer: (bytes: Buffer, isIdle: boolean) => void = () => undefined;
  #rest = Buffer.alloc(0);

  constructor(readonly socket: Socket) {
    socket.on('data', (bytes) => {
      this.#rest = Buffer.concat([this.#rest, bytes]);
      let end = 0;
      let isIdle = false;
      while (this.#rest.length >= end + 5 && this.#rest.length > end + this.#rest.readUInt32BE(end + 1)) {
        isIdle =
          this.#rest.toString('latin1', end, end + 1) === 'Z' && this.#rest[end + 5] === 'I'.charCodeAt(0);
        end += 1 + this.#rest.readUInt32BE(end + 1);
      }
      const whole = this.#rest.subarray(0, end);
      this.#rest = this.#rest.subarray(end);
      if (whole.length > 0) this.answer(whole, isIdle);
    });
  }
}
