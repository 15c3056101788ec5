import { EventEmitter, once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Certificate } from '../support/certificate.js';
import { parseMail, type Mail } from './message.js';
import { freePort } from '../support/processes/server-process.js';

/** The stage of the conversation at which the server misbehaves; `message` is after the mail's last line. */
export type Stage = 'connect' | 'ehlo' | 'auth' | 'mail' | 'rcpt' | 'data' | 'message';
/** The code of a refusal, no answer, or a broken connection. */
export type Misconduct = number | 'stall' | 'drop';

/** A mail that arrived, down to its last line. */
export interface Received extends Mail {
  /** What the sender called itself. */
  readonly helo: string;
  readonly from: string;
  readonly to: readonly string[];
  /** Whether it came over TLS. */
  readonly isEncrypted: boolean;
  /** Whether the sender got the answer; else it cannot know. */
  accepted: boolean;
}

/** A mail server for tests: accepts everything, or misbehaves as it is configured. Its refusals repeat what they refuse. */
export class SmtpServer {
  /** Every mail that arrived, accepted or not. */
  readonly received: Received[] = [];
  port = 0;
  /** With one it offers STARTTLS. */
  certificate: Certificate | undefined;
  /** The commands it was given, without what they are about. */
  readonly commands: string[] = [];
  readonly #server = createServer((socket) => this.#talk(socket));
  readonly #sockets = new Set<Socket>();
  readonly #events = new EventEmitter().setMaxListeners(0);
  readonly #misconduct = new Map<Stage, { readonly misconduct: Misconduct; readonly of: RegExp }>();
  readonly #stalled = new Map<Socket, () => void>();

  static async start(): Promise<SmtpServer> {
    const server = new SmtpServer();
    await server.comeBack();
    return server;
  }

  get accepted(): Received[] {
    return this.received.filter(({ accepted }) => accepted);
  }

  /** @param of what is sent at the stage, such as the recipient at `rcpt`; where none is given, anything */
  misbehave(stage: Stage, misconduct: Misconduct, of = /(?:)/): void {
    this.#misconduct.set(stage, { misconduct, of });
  }

  /** Behaves again, and answers those that were kept waiting. */
  behave(): void {
    this.#misconduct.clear();
    const stalled = [...this.#stalled.values()];
    this.#stalled.clear();
    for (const answer of stalled) answer();
  }

  /** Waits until a conversation comes to a stage, from now on. */
  async reached(stage: Stage): Promise<void> {
    await once(this.#events, stage);
  }

  /** Waits until a client that was kept waiting has gone. */
  async left(): Promise<void> {
    await once(this.#events, 'left');
  }

  /** The first accepted mail that is wanted, as soon as there is one. */
  async mail(wanted: (mail: Received) => boolean): Promise<Received> {
    for (;;) {
      const found = this.accepted.find(wanted);
      if (found) return found;
      await once(this.#events, 'accepted');
    }
  }

  /** Each connection is refused, as where no server is. */
  async stop(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async comeBack(): Promise<void> {
    // Its own again, also after it was stopped: no other test is given it meanwhile.
    this.port ||= await freePort();
    await once(this.#server.listen(this.port, '127.0.0.1'), 'listening');
  }

  async close(): Promise<void> {
    if (this.#server.listening) await this.stop();
  }

  #talk(socket: Socket): void {
    this.#sockets.add(socket);
    socket
      .on('error', () => undefined)
      .on('close', () => {
        this.#sockets.delete(socket);
        if (this.#stalled.delete(socket)) this.#events.emit('left');
      });
    const arrive: Arrive = (stage, answer, refused) => {
      const found = this.#misconduct.get(stage);
      const misconduct = found?.of.test(refused) ? found.misconduct : undefined;
      if (misconduct === undefined) answer();
      else if (misconduct === 'stall') this.#stalled.set(socket, answer);
      else if (misconduct === 'drop') socket.destroy();
      else socket.write(`${misconduct} 5.1.1 <${refused}>: no such user, and no such mail\r\n`);
      this.#events.emit(stage);
    };
    const took = (mail: Received) => {
      if (mail.accepted) this.#events.emit('accepted');
      else this.received.push(mail);
    };
    new Conversation(socket, arrive, took, this).begin();
  }
}

/** Comes to a stage, with the answer that is due and what a refusal would repeat. */
type Arrive = (stage: Stage, answer: () => void, refused: string) => void;

/** One connection. */
class Conversation {
  #helo = '';
  #from = '';
  #to: string[] = [];
  /** The mail so far, while it comes. */
  #lines: string[] | undefined;

  constructor(
    private socket: Socket,
    private readonly arrive: Arrive,
    /** Emitted when it has arrived, and once more when it is accepted. */
    private readonly took: (mail: Received) => void,
    private readonly server: Pick<SmtpServer, 'certificate' | 'commands'>,
  ) {}

  begin(): void {
    this.#listen();
    this.#at('connect', '220 mail.example.com ESMTP');
  }

  #listen(): void {
    let rest = '';
    this.socket.setEncoding('latin1').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\r\n');
      rest = lines.pop()!;
      for (const line of lines) this.#take(line);
    });
  }

  /** From now on the same conversation is encrypted. */
  #encrypt(certificate: Certificate): void {
    this.socket.removeAllListeners('data').write('220 go ahead\r\n');
    this.socket = new TLSSocket(this.socket, { isServer: true, ...certificate });
    this.socket.on('error', () => undefined);
    this.#listen();
  }

  #at(stage: Stage, text: string, then: () => void = () => undefined, refused = this.#to.at(-1) ?? ''): void {
    const answer = () => {
      then();
      this.socket.write(`${text}\r\n`);
    };
    this.arrive(stage, answer, refused);
  }

  #take(line: string): void {
    if (this.#lines === undefined) this.#command(Buffer.from(line, 'latin1').toString('utf8'));
    else if (line === '.') this.#message(this.#lines);
    else this.#lines.push(line.replace(/^\./, ''));
  }

  #command(line: string): void {
    const [address] = /(?<=:<).*(?=>)/.exec(line) ?? [''];
    const { certificate, commands } = this.server;
    const isEncrypted = this.socket instanceof TLSSocket;
    commands.push(line.slice(0, 4).toUpperCase());
    switch (commands.at(-1)) {
      case 'HELO':
      case 'EHLO':
        this.#helo = line.slice(5);
        return this.#at(
          'ehlo',
          `250-mail.example.com\r\n${certificate && !isEncrypted ? '250-STARTTLS\r\n' : ''}250-8BITMIME\r\n250-SMTPUTF8\r\n250 AUTH PLAIN`,
        );
      case 'STAR':
        return certificate ? this.#encrypt(certificate) : void this.socket.write('502 not here\r\n');
      case 'AUTH':
        return this.#at('auth', '235 welcome', undefined, line);
      case 'MAIL':
        [this.#from, this.#to] = [address, []];
        return this.#at('mail', '250 ok', undefined, address);
      case 'RCPT':
        this.#to.push(address);
        return this.#at('rcpt', '250 ok');
      case 'DATA':
        return this.#at('data', '354 go on', () => (this.#lines = []));
      case 'QUIT':
        return void this.socket.end('221 bye\r\n');
      default:
        this.socket.write(/^(RSET|NOOP)/i.test(line) ? '250 ok\r\n' : '500 what?\r\n');
    }
  }

  #message(lines: string[]): void {
    this.#lines = undefined;
    const [helo, from, to] = [this.#helo, this.#from, this.#to];
    const isEncrypted = this.socket instanceof TLSSocket;
    const mail = { helo, from, to, isEncrypted, ...parseMail(lines.join('\r\n')), accepted: false };
    const accept = () => {
      mail.accepted = true;
      this.took(mail);
    };
    this.took(mail);
    this.#at('message', '250 taken', accept, `${to.join()} ${mail.text.replaceAll('\n', ' ')}`);
  }
}
