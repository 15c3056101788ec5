import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Certificate } from '../certificate.js';
import { listen } from '../listen.js';

/** The SSLRequest message of a PostgreSQL client: its length, and a code. */
const SSL_REQUEST = Buffer.from('0000000804d2162f', 'hex');

/**
 * A proxy that adds TLS to a PostgreSQL server. It rejects and counts connections without TLS, and forwards the others to a
 * server without TLS.
 */
export class TlsPostgres {
  /** The certificate of the proxy; with null the proxy refuses TLS. */
  certificate: Certificate | null = null;
  /** The number of connections that requested TLS (`secure`), and of those that did not and were closed (`plain`). */
  readonly seen = { secure: 0, plain: 0 };
  readonly #server: Server;
  #port = 0;
  readonly #sockets = new Set<Socket>();
  #isSilent = false;

  private constructor(private readonly target: URL) {
    this.#server = createServer((socket) => void this.#serve(socket).catch(() => socket.destroy()));
  }

  /** @param url the URL of the server without TLS */
  static async open(url: string): Promise<TlsPostgres> {
    const postgres = new TlsPostgres(new URL(url));
    postgres.#port = await listen(postgres.#server);
    return postgres;
  }

  /** The URL of the proxy, with these parameters. */
  url(parameters: Record<string, string>): string {
    const url = new URL(this.target);
    url.hostname = '127.0.0.1';
    url.port = String(this.#port);
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return url.href;
  }

  /** Drops every byte of the server from now on. */
  fallSilent(): void {
    this.#isSilent = true;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #serve(socket: Socket): Promise<void> {
    this.#register(socket);
    const [first] = (await once(socket, 'data')) as [Buffer];
    if (!first.equals(SSL_REQUEST)) {
      this.seen.plain += 1;
      return void socket.destroy();
    }
    this.seen.secure += 1;
    if (!this.certificate) return void socket.end('N');
    socket.write('S');
    const near = this.#register(new TLSSocket(socket, { isServer: true, ...this.certificate }));
    const far = this.#register(connect(Number(this.target.port), this.target.hostname));
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
    near.pipe(far);
    far.on('data', (bytes) => void (this.#isSilent || near.write(bytes)));
  }

  /** Remembers a socket until it is closed, so that `close` can close it. */
  #register<S extends Socket>(socket: S): S {
    this.#sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => this.#sockets.delete(socket));
    return socket;
  }
}
