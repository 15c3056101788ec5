import { connect } from 'node:net';

const END_OF_HEADERS = Buffer.from('\r\n\r\n');
const BROKEN = { status: 0, head: '', body: Buffer.alloc(0) };

/**
 * A keep-alive connection that sends one request at a time. It uses a plain socket, because an HTTP client would need more
 * processor time than the service that is measured.
 */
export class Connection {
  #socket;
  #received = null;
  #pending = null;
  /** When the connection was opened, in milliseconds of `performance.now()`. */
  openedAt = 0;

  constructor(port) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.once('connect', () => (this.openedAt = performance.now()));
    this.#socket.on('data', (bytes) => this.#read(bytes));
    const fail = (error) => this.#finish({ ...BROKEN, reason: error?.code ?? 'closed' });
    this.#socket.on('error', fail).on('close', () => fail());
  }

  /** @returns the status of the response (0, with a `reason`, if the connection broke), its head as text, and its body */
  send(request) {
    return new Promise((resolve) => {
      if (this.isClosed) return resolve({ ...BROKEN, reason: 'closed' });
      this.#pending = resolve;
      this.#socket.write(request);
    });
  }

  /** Resolves when the connection is open, or has failed. */
  async opened() {
    if (!this.#socket.connecting) return;
    await new Promise((resolve) => this.#socket.once('connect', resolve).once('close', resolve));
  }

  get isClosed() {
    return this.#socket.destroyed;
  }

  end() {
    this.#socket.destroy();
  }

  #read(bytes) {
    this.#received = this.#received ? Buffer.concat([this.#received, bytes]) : bytes;
    const end = this.#received.indexOf(END_OF_HEADERS);
    if (end < 0) return;
    const head = this.#received.latin1Slice(0, end);
    const status = Number(head.slice(9, 12));
    const length = status === 304 ? 0 : Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    const start = end + END_OF_HEADERS.length;
    if (this.#received.length < start + length) return;
    const body = this.#received.subarray(start, start + length);
    this.#received = null;
    this.#finish({ status, head, body });
  }

  #finish(response) {
    const resolve = this.#pending;
    this.#pending = null;
    resolve?.(response);
  }
}
