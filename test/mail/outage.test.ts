import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createDatabase } from '../support/harness.js';
import { freePort, ServerProcess } from '../support/processes/server-process.js';
import { SmtpServer } from './smtp-server.js';
import { report, TAKES_PURCHASES } from '../support/http/webhook.js';

/** Attempts to connect: enough that both pools of workers have ended, and looked in vain whether the database is back. */
const ATTEMPTS = 8;

/** A door to PostgreSQL: shut, open connections are cut, and new ones are refused and counted. */
class Door {
  #shut = false;
  readonly #sockets = new Set<Socket>();
  readonly #events = new EventEmitter();
  readonly #server = createServer((near) => {
    if (this.#shut) {
      near.on('error', () => undefined).destroy();
      this.#events.emit('refused');
      return;
    }
    const far = connect(this.target, '127.0.0.1');
    this.#join(near, far);
    this.#join(far, near);
  });

  constructor(private readonly target: number) {}

  async state(): Promise<number> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  shut(): void {
    this.#shut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  open(): void {
    this.#shut = false;
  }

  /** Waits until so many were refused, from now on. */
  async refused(count: number): Promise<void> {
    for (let left = count; left > 0; left -= 1) await once(this.#events, 'refused');
  }

  remove(): void {
    this.shut();
    this.#server.close();
  }

  #join(one: Socket, other: Socket): void {
    this.#sockets.add(one);
    one.pipe(other);
    one.on('error', () => undefined).on('close', () => (this.#sockets.delete(one), other.destroy()));
  }
}

const directory = mkdtempSync(join(tmpdir(), 'mooring-mail-outage-'));
let database: Awaited<ReturnType<typeof createDatabase>>;
let door: Door;
let smtp: SmtpServer;
let service: ServerProcess;
let url: string;

beforeAll(async () => {
  database = await createDatabase();
  const through = new URL(database.url);
  door = new Door(Number(through.port));
  through.hostname = '127.0.0.1';
  through.port = String(await door.state());
  smtp = await SmtpServer.start();
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  service = new ServerProcess({
    PORT: String(port),
    DATA_DIR: directory,
    DATABASE_URL: through.href,
    SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
    MAIL_FROM: 'licenses@example.com',
    ...TAKES_PURCHASES,
  });
  await service.ready();
});
afterAll(async () => {
  await service?.end();
  await smtp?.close();
  door?.remove();
  await database?.drop();
  rmSync(directory, { recursive: true, force: true });
});

async function sell(email: string): Promise<void> {
  const { status } = await report({ url }, { transaction_id: randomUUID(), email, status: 'paid' });
  expect(status).toBe(204);
}

const to = (email: string) => smtp.mail((mail) => mail.to.includes(email));

test('a database that was unavailable for a while gets its mails sent, those under way and new ones, by the same process', async () => {
  smtp.misbehave('message', 'stall');
  const stalled = smtp.reached('message');
  await sell('under-way@example.com');
  await stalled;
  door.shut();
  const refused = door.refused(ATTEMPTS);
  smtp.behave();
  // It is with the mail server, and that cannot be recorded.
  const first = await to('under-way@example.com');
  await refused;
  door.open();
  const again = await smtp.mail((mail) => mail !== first && mail.to.includes('under-way@example.com'));
  expect(again.headers['message-id']).toBe(first.headers['message-id']);
  await sell('new@example.com');
  await to('new@example.com');
  expect(smtp.received).toHaveLength(3);
  expect(service.running).toBe(true);
  expect(service.stdout).not.toContain('job worker ended');
});
