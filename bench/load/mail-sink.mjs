import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:net';
import { performance } from 'node:perf_hooks';

/** A mail server that accepts every mail after a fixed delay, and records when each address received one. */
export class MailSink {
  /** Arrival times by address. */
  #arrivals = new Map();
  #events = new EventEmitter().setMaxListeners(0);
  #server = createServer((socket) => this.#serve(socket));

  /** @param delayMs the time from the last line of a mail to the reply */
  constructor(delayMs) {
    this.delayMs = delayMs;
  }

  async start() {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    return `smtp://127.0.0.1:${this.#server.address().port}`;
  }

  /** Number of mails received. */
  get count() {
    return [...this.#arrivals.values()].flat().length;
  }

  /** Waits for the first mail to an address after `since`. @returns when it arrived, by the clock of `performance` */
  async untilMailTo(email, since) {
    for (;;) {
      const at = this.#arrivals.get(email)?.find((arrivedAt) => arrivedAt > since);
      if (at) return at;
      await once(this.#events, 'mail');
    }
  }

  end() {
    this.#server.close();
  }

  #serve(socket) {
    let [rest, to, isMessage] = ['', '', false];
    const reply = (text) => socket.writable && socket.write(`${text}\r\n`);
    const accept = () => {
      this.#arrivals.set(to, [...(this.#arrivals.get(to) ?? []), performance.now()]);
      this.#events.emit('mail');
      reply('250 accepted');
    };
    const command = (line) => {
      if (/^RCPT/i.test(line)) to = /<(.*)>/.exec(line)[1];
      isMessage = /^DATA/i.test(line);
      if (/^QUIT/i.test(line)) socket.end('221 bye\r\n');
      else reply(isMessage ? '354 go on' : '250 ok');
    };
    socket.setEncoding('latin1').on('error', () => undefined);
    socket.on('data', (chunk) => {
      const lines = (rest + chunk).split('\r\n');
      rest = lines.pop();
      for (const line of lines) {
        if (!isMessage) command(line);
        else if (line === '.') {
          isMessage = false;
          setTimeout(accept, this.delayMs);
        }
      }
    });
    reply('220 mail.example.com ESMTP');
  }
}
