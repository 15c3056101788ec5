import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:net';
import { performance } from 'node:perf_hooks';

/** A mail server that takes every mail, each after the same time, and keeps whom it was for and when it had come. */
export class MailSink {
  #arrived = new Map();
  #events = new EventEmitter().setMaxListeners(0);
  #server = createServer((socket) => this.#talk(socket));

  /** @param delayMs from a mail's last line to the answer */
  constructor(delayMs) {
    this.delayMs = delayMs;
  }

  async start() {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    return `smtp://127.0.0.1:${this.#server.address().port}`;
  }

  /** How many mails came. */
  get count() {
    return [...this.#arrived.values()].flat().length;
  }

  /** When the first mail to an address came that came after `since`, by the clock of `performance`. */
  async mailTo(email, since) {
    for (;;) {
      const at = this.#arrived.get(email)?.find((each) => each > since);
      if (at) return at;
      await once(this.#events, 'mail');
    }
  }

  end() {
    this.#server.close();
  }

  #talk(socket) {
    let [rest, to, isMessage] = ['', '', false];
    const say = (text) => socket.writable && socket.write(`${text}\r\n`);
    const take = () => {
      this.#arrived.set(to, [...(this.#arrived.get(to) ?? []), performance.now()]);
      this.#events.emit('mail');
      say('250 taken');
    };
    const command = (line) => {
      if (/^RCPT/i.test(line)) to = /<(.*)>/.exec(line)[1];
      isMessage = /^DATA/i.test(line);
      if (/^QUIT/i.test(line)) socket.end('221 bye\r\n');
      else say(isMessage ? '354 go on' : '250 ok');
    };
    socket.setEncoding('latin1').on('error', () => undefined);
    socket.on('data', (chunk) => {
      const lines = (rest + chunk).split('\r\n');
      rest = lines.pop();
      for (const line of lines) {
        if (!isMessage) command(line);
        else if (line === '.') {
          isMessage = false;
          setTimeout(take, this.delayMs);
        }
      }
    });
    say('220 mail.example.com ESMTP');
  }
}
