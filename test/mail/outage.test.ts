import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { createDatabase } from '../support/harness.js';
import { freePort, ServerProcess } from '../support/processes/server-process.js';
import { SmtpServer } from './smtp-server.js';
import { report, PURCHASE_SETTINGS } from '../support/http/webhook.js';
import { temporaryFolder } from '../support/folders.js';
import { afterThisFile } from '../support/of-this-file.js';
import { listen } from '../support/listen.js';

/** The name of the connection with which a worker pool starts. Each pool has one of them at a time. */
const START_CONNECTION = 'mooring (jobs)';
const WORKER_POOLS = 2;

/** A TCP forwarder to PostgreSQL. When it is shut, it closes all connections, and answers no new ones. */
class Forwarder {
  #isShut = false;
  readonly #sockets = new Set<Socket>();
  /** While it is shut: the connections with which a worker pool tries to start. */
  readonly #starts = new Set<Socket>();
  readonly #events = new EventEmitter();
  readonly #server = createServer((serviceSocket) => {
    if (this.#isShut) {
      this.#refuse(serviceSocket);
      return;
    }
    const databaseSocket = connect(this.targetPort, '127.0.0.1');
    this.#forward(serviceSocket, databaseSocket);
    this.#forward(databaseSocket, serviceSocket);
  });

  constructor(private readonly targetPort: number) {}

  async listen(): Promise<number> {
    afterThisFile(() => this.close());
    return listen(this.#server);
  }

  shut(): void {
    this.#isShut = true;
    for (const socket of [...this.#sockets, ...this.#starts]) socket.destroy();
  }

  open(): void {
    this.#isShut = false;
    for (const socket of this.#starts) socket.destroy();
  }

  /** Waits until this many worker pools try to start at the same time. */
  async untilStarting(pools: number): Promise<void> {
    while (this.#starts.size < pools) await once(this.#events, 'starting');
  }

  /** Closes a connection, unless a worker pool tries to start with it: then it is not answered. */
  #refuse(socket: Socket): void {
    socket.on('error', () => undefined).on('close', () => this.#starts.delete(socket));
    socket.once('data', (startup) => {
      if (!startup.includes(START_CONNECTION)) return socket.destroy();
      this.#starts.add(socket);
      this.#events.emit('starting');
    });
  }

  close(): void {
    this.shut();
    this.#server.close();
  }

  /** Forwards the data of one socket to the other. When the first one closes, the other one is closed too. */
  #forward(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    from.pipe(to);
    from.on('error', () => undefined).on('close', () => (this.#sockets.delete(from), to.destroy()));
  }
}

const directory = temporaryFolder();

const database = await createDatabase();
const forwardedUrl = new URL(database.url);
const forwarder = new Forwarder(Number(forwardedUrl.port));
forwardedUrl.hostname = '127.0.0.1';
forwardedUrl.port = String(await forwarder.listen());
const smtp = await SmtpServer.start();
const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const service = new ServerProcess({
  PORT: String(port),
  DATA_DIR: directory,
  DATABASE_URL: forwardedUrl.href,
  SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
  MAIL_FROM: 'licenses@example.com',
  ...PURCHASE_SETTINGS,
});
await service.ready();

async function sell(email: string): Promise<void> {
  const { status } = await report({ url }, { transaction_id: randomUUID(), email, status: 'paid' });
  expect(status).toBe(204);
}

const untilMailTo = (email: string) => smtp.untilAccepted((mail) => mail.to.includes(email));

test('after an outage of the database the same process sends the mail that was being sent, and new mails', async () => {
  smtp.misbehave('message', 'stall');
  const stalled = smtp.untilReached('message');
  await sell('under-way@example.com');
  await stalled;
  forwarder.shut();
  smtp.behave();
  // The mail server has the mail, but the service cannot record this.
  const first = await untilMailTo('under-way@example.com');
  // Both pools have ended, and try to start again.
  await forwarder.untilStarting(WORKER_POOLS);
  forwarder.open();
  const again = await smtp.untilAccepted(
    (mail) => mail !== first && mail.to.includes('under-way@example.com'),
  );
  expect(again.headers['message-id']).toBe(first.headers['message-id']);
  await sell('new@example.com');
  await untilMailTo('new@example.com');
  expect(smtp.received).toHaveLength(3);
  expect(service.isRunning).toBe(true);
  expect(service.stdout).not.toContain('job worker ended');
});
