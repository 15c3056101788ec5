import { connect } from 'node:net';

const END_OF_HEADERS = Buffer.from('\r\n\r\n');
const BROKEN = { status: 0, head: '', body: Buffer.alloc(0) };

/** One kept connection that asks one thing at a time. No HTTP client: it would cost more than what it measures. */
export class Connection {
  #socket;
  #got = null;
  #pending = null;

  constructor(port) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.on('data', (bytes) => this.#read(bytes));
    const fail = (error) => this.#finish({ ...BROKEN, reason: error?.code ?? 'closed' });
    this.#socket.on('error', fail).on('close', () => fail());
  }

  /** @returns the answer's status, 0 with a reason where the connection broke, its head as text, and its body */
  ask(request) {
    return new Promise((resolve) => {
      if (this.isClosed) return resolve({ ...BROKEN, reason: 'closed' });
      this.#pending = resolve;
      this.#socket.write(request);
    });
  }

  get isClosed() {
    return this.#socket.destroyed;
  }

  end() {
    this.#socket.destroy();
  }

  #read(bytes) {
    this.#got = this.#got ? Buffer.concat([this.#got, bytes]) : bytes;
    const end = this.#got.indexOf(END_OF_HEADERS);
    if (end < 0) return;
    const head = this.#got.latin1Slice(0, end);
    const status = Number(head.slice(9, 12));
    const length = status === 304 ? 0 : Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    const start = end + END_OF_HEADERS.length;
    if (this.#got.length < start + length) return;
    const body = this.#got.subarray(start, start + length);
    this.#got = null;
    this.#finish({ status, head, body });
  }

  #finish(answer) {
    const resolve = this.#pending;
    this.#pending = null;
    resolve?.(answer);
  }
}
