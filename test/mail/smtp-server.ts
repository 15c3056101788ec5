import { EventEmitter, once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Certificate } from '../support/certificate.js';
import { parseMail, type Mail } from './message.js';
import { freePort } from '../support/processes/server-process.js';
import { afterThisFile } from '../support/of-this-file.js';

/** The SMTP stage at which the server misbehaves; `message` is after the last line of the mail. */
export type Stage = 'connect' | 'ehlo' | 'auth' | 'mail' | 'rcpt' | 'data' | 'message';
/** What the server does in place of its reply: it refuses with this code, sends no reply, or closes the connection. */
export type Misconduct = number | 'stall' | 'drop';

/** A mail that was received completely. */
export interface Received extends Mail {
  /** The name that the sender gave in HELO or EHLO. */
  readonly helo: string;
  readonly from: string;
  readonly to: readonly string[];
  /** Whether it was sent over TLS. */
  readonly isEncrypted: boolean;
  /** Whether the server sent the reply that accepts the mail. */
  accepted: boolean;
}

/** A mail server for tests: accepts all mails, or misbehaves as configured. Its refusals repeat what the client sent. */
export class SmtpServer {
  /** All received mails, accepted or not. */
  readonly received: Received[] = [];
  port = 0;
  /** If it is set, the server offers STARTTLS. */
  certificate: Certificate | undefined;
  /** The names of the received commands. */
  readonly commands: string[] = [];
  readonly #server = createServer((socket) => this.#handleConnection(socket));
  readonly #sockets = new Set<Socket>();
  readonly #events = new EventEmitter().setMaxListeners(0);
  readonly #misconduct = new Map<Stage, { readonly misconduct: Misconduct; readonly pattern: RegExp }>();
  readonly #stalled = new Map<Socket, () => void>();

  static async start(): Promise<SmtpServer> {
    const server = new SmtpServer();
    await server.listen();
    afterThisFile(() => server.close());
    return server;
  }

  get accepted(): Received[] {
    return this.received.filter(({ accepted }) => accepted);
  }

  /** Returns the mails to this address, accepted or not. */
  mailsTo(email: string): Received[] {
    return this.received.filter(({ to }) => to.includes(email));
  }

  /**
   * Misbehaves at this stage until `behave` is called.
   * @param pattern matches the text that the client sent, such as the recipient at `rcpt`; by default any text
   */
  misbehave(stage: Stage, misconduct: Misconduct, pattern = /(?:)/): void {
    this.#misconduct.set(stage, { misconduct, pattern });
  }

  /** Behaves normally again, and sends the replies that were held back. */
  behave(): void {
    this.#misconduct.clear();
    const stalled = [...this.#stalled.values()];
    this.#stalled.clear();
    for (const answer of stalled) answer();
  }

  /** Waits for the next connection that reaches this stage. */
  async untilReached(stage: Stage): Promise<void> {
    await once(this.#events, stage);
  }

  /** Waits until a client whose reply is held back closes its connection. */
  async untilStalledClientLeft(): Promise<void> {
    await once(this.#events, 'left');
  }

  /** Waits for an accepted mail that matches. */
  async untilAccepted(matches: (mail: Received) => boolean): Promise<Received> {
    for (;;) {
      const found = this.accepted.find(matches);
      if (found) return found;
      await once(this.#events, 'accepted');
    }
  }

  /** Closes the server, so that connections are refused. */
  async stop(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** Listens on a free port, and on the same one after a stop. */
  async listen(): Promise<void> {
    this.port ||= await freePort();
    await once(this.#server.listen(this.port, '127.0.0.1'), 'listening');
  }

  async close(): Promise<void> {
    if (this.#server.listening) await this.stop();
  }

  #handleConnection(socket: Socket): void {
    this.#sockets.add(socket);
    socket
      .on('error', () => undefined)
      .on('close', () => {
        this.#sockets.delete(socket);
        if (this.#stalled.delete(socket)) this.#events.emit('left');
      });
    const onStage: StageHandler = (stage, answer, sentText) => {
      const found = this.#misconduct.get(stage);
      const misconduct = found?.pattern.test(sentText) ? found.misconduct : undefined;
      if (misconduct === undefined) answer();
      else if (misconduct === 'stall') this.#stalled.set(socket, answer);
      else if (misconduct === 'drop') socket.destroy();
      else socket.write(`${misconduct} 5.1.1 <${sentText}>: no such user, and no such mail\r\n`);
      this.#events.emit(stage);
    };
    const onMail = (mail: Received) => {
      if (mail.accepted) this.#events.emit('accepted');
      else this.received.push(mail);
    };
    new Conversation(socket, onStage, onMail, this).begin();
  }
}

/** Called at each stage, with the function that sends the reply and the text that the client sent, which a refusal repeats. */
type StageHandler = (stage: Stage, answer: () => void, sentText: string) => void;

/** One SMTP connection. */
class Conversation {
  #helo = '';
  #from = '';
  #to: string[] = [];
  /** The lines of the mail that is being received. */
  #lines: string[] | undefined;

  constructor(
    private socket: Socket,
    private readonly onStage: StageHandler,
    /** Called when a mail was received, and again when it is accepted. */
    private readonly onMail: (mail: Received) => void,
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
      for (const line of lines) this.#handleLine(line);
    });
  }

  /** Continues the connection over TLS. */
  #encrypt(certificate: Certificate): void {
    this.socket.removeAllListeners('data').write('220 go ahead\r\n');
    this.socket = new TLSSocket(this.socket, { isServer: true, ...certificate });
    this.socket.on('error', () => undefined);
    this.#listen();
  }

  #at(
    stage: Stage,
    text: string,
    then: () => void = () => undefined,
    sentText = this.#to.at(-1) ?? '',
  ): void {
    const answer = () => {
      then();
      this.socket.write(`${text}\r\n`);
    };
    this.onStage(stage, answer, sentText);
  }

  #handleLine(line: string): void {
    if (this.#lines === undefined) this.#handleCommand(Buffer.from(line, 'latin1').toString('utf8'));
    else if (line === '.') this.#handleMessage(this.#lines);
    else this.#lines.push(line.replace(/^\./, ''));
  }

  #handleCommand(line: string): void {
    const [address] = /(?<=:<).*(?=>)/.exec(line) ?? [''];
    const { certificate, commands } = this.server;
    const isEncrypted = this.socket instanceof TLSSocket;
    commands.push(line.split(' ', 1)[0]!.toUpperCase());
    switch (commands.at(-1)) {
      case 'HELO':
      case 'EHLO':
        this.#helo = line.slice(5);
        return this.#at(
          'ehlo',
          `250-mail.example.com\r\n${certificate && !isEncrypted ? '250-STARTTLS\r\n' : ''}250-8BITMIME\r\n250-SMTPUTF8\r\n250 AUTH PLAIN`,
        );
      case 'STARTTLS':
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

  #handleMessage(lines: string[]): void {
    this.#lines = undefined;
    const [helo, from, to] = [this.#helo, this.#from, this.#to];
    const isEncrypted = this.socket instanceof TLSSocket;
    const mail = { helo, from, to, isEncrypted, ...parseMail(lines.join('\r\n')), accepted: false };
    const accept = () => {
      mail.accepted = true;
      this.onMail(mail);
    };
    this.onMail(mail);
    this.#at('message', '250 taken', accept, `${to.join()} ${mail.text.replaceAll('\n', ' ')}`);
  }
}
