import { randomUUID } from 'node:crypto';
import { afterEach, expect, test } from '@jest/globals';
import { createDatabase } from '../support/harness.js';
import { freePort, ServerProcess } from '../support/processes/server-process.js';
import { SmtpServer } from './smtp-server.js';
import { report, PURCHASE_SETTINGS } from '../support/http/webhook.js';
import { temporaryFolder } from '../support/folders.js';

const directory = temporaryFolder();

class Instance extends ServerProcess {
  constructor(
    readonly port: number,
    /** The sender address, which identifies the instance at the mail server. */
    readonly from: string,
  ) {
    super({
      PORT: String(port),
      DATA_DIR: directory,
      DATABASE_URL: database.url,
      // With these parameters Nodemailer would print the mails.
      SMTP_URL: `smtp://127.0.0.1:${smtp.port}?logger=true&debug=true&transactionLog=true`,
      MAIL_FROM: from,
      ...PURCHASE_SETTINGS,
      LOG_LEVEL: 'trace',
    });
  }

  async sell(email: string): Promise<void> {
    const body = { transaction_id: randomUUID(), email, status: 'paid' };
    const { status } = await report({ url: `http://127.0.0.1:${this.port}` }, body);
    expect(status).toBe(204);
  }

  /** Reports a purchase, and waits until the mail server has received the mail, to which it sends no reply. */
  async sellAndStall(email: string): Promise<void> {
    smtp.misbehave('message', 'stall');
    const stalled = smtp.untilReached('message');
    await this.sell(email);
    await stalled;
  }

  /** Ends the instance, and waits until its connection to the mail server is closed. */
  async endAndDisconnect(signal: 'SIGKILL' | 'SIGTERM') {
    const disconnected = smtp.untilStalledClientLeft();
    const ended = await this.end(signal);
    await disconnected;
    return ended;
  }
}

const instances: Instance[] = [];

async function start(): Promise<Instance> {
  const instance = new Instance(await freePort(), `instance-${instances.length}@example.com`);
  instances.push(instance);
  await instance.ready();
  return instance;
}

const database = await createDatabase();
const smtp = await SmtpServer.start();
await Promise.all([start(), start()]);
afterEach(() => smtp.behave());

const untilDelivered = (email: string) => smtp.untilAccepted(({ to }) => to.includes(email));
/** Checks that the mail was sent twice, with the same Message-ID. */
function expectTwice(email: string): void {
  const [first, second, ...more] = smtp.mailsTo(email);
  expect([first!.accepted, second!.accepted, more]).toEqual([false, true, []]);
  expect(second!.headers['message-id']).toBe(first!.headers['message-id']);
}

/** The running instance, with which the next test begins. */
let running: Instance;

test('an instance sends the mail that a killed instance was sending', async () => {
  const [one, two] = instances as [Instance, Instance];
  await one.sell('before@example.com');
  await untilDelivered('before@example.com');
  await one.sellAndStall('taken-over@example.com');
  const killed = smtp.received.at(-1)!.from === one.from ? one : two;
  running = killed === one ? two : one;
  await killed.endAndDisconnect('SIGKILL');
  smtp.behave();
  expect((await untilDelivered('taken-over@example.com')).from).toBe(running.from);
  expectTwice('taken-over@example.com');
});

test('a mail that a killed instance was sending is sent by the next instance that starts', async () => {
  await running.sellAndStall('on-its-way@example.com');
  await running.endAndDisconnect('SIGKILL');
  smtp.behave();
  running = await start();
  await untilDelivered('on-its-way@example.com');
  expectTwice('on-its-way@example.com');
});

test('the mail of an acknowledged purchase is sent, although the instance was killed while the mail server was unavailable', async () => {
  await smtp.stop();
  await running.sell('acknowledged@example.com');
  await running.end('SIGKILL');
  await smtp.listen();
  running = await start();
  await untilDelivered('acknowledged@example.com');
  expect(smtp.mailsTo('acknowledged@example.com')).toHaveLength(1);
});

test('an instance that shuts down does not wait for a mail server that does not answer', async () => {
  await running.sellAndStall('waiting@example.com');
  // An instance that does not end within 10 seconds exits with another code (`src/server/serve.ts`).
  expect(await running.endAndDisconnect('SIGTERM')).toEqual({ code: 0, signal: null });
  smtp.behave();
  await start();
  await untilDelivered('waiting@example.com');
  expectTwice('waiting@example.com');
});

test('parameters of SMTP_URL do not make an instance print mails', () => {
  for (const { stdout } of instances) {
    expect(stdout.length).toBeGreaterThan(100);
    for (const line of stdout.trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('msg');
    expect(stdout).not.toMatch(/@example\.com|MOOR_|RCPT|EHLO/);
  }
});
