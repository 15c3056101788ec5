import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import type { FailingMail } from '../../src/mail/waiting-mail.js';
import { Terminal } from '../support/processes/cli-harness.js';
import { createDatabase } from '../support/harness.js';
import { ACT, PostOffice } from './harness.js';
import type { Misconduct, Stage } from './smtp-server.js';

const UNREACHABLE = 'the mail server cannot be reached';
const REFUSED = 'the mail server refused the';

/** Misconducts of the mail server, and the reasons that are reported. */
const misconducts: [stage: Stage, misconduct: Misconduct, reason: string][] = [
  ['connect', 421, `${REFUSED} mail (421)`],
  ['connect', 'drop', `${UNREACHABLE} (ECONNECTION)`],
  ['auth', 535, `${REFUSED} sign-in (535)`],
  ['auth', 'drop', `${UNREACHABLE} (ECONNECTION)`],
  ['mail', 553, `${REFUSED} mail (553)`],
  ['rcpt', 550, `${REFUSED} recipient (550)`],
  ['rcpt', 451, `${REFUSED} recipient (451)`],
  ['rcpt', 'drop', `${UNREACHABLE} (ECONNECTION)`],
  ['data', 554, `${REFUSED} mail (554)`],
  ['message', 452, `${REFUSED} mail (452)`],
  ['message', 'drop', `${UNREACHABLE} (ECONNECTION)`],
];

let office: PostOffice;
let terminal: Terminal;
/** The ids of the licenses whose mail failed, in the order of the table, and one whose mail reached no server. */
const ids: string[] = [];
beforeAll(async () => {
  office = await PostOffice.open({ credentials: 'mooring:secret@' });
  terminal = new Terminal({ DATABASE_URL: office.service.databaseUrl });
  for (const [index, [stage, misconduct]] of misconducts.entries()) {
    office.smtp.misbehave(stage, misconduct);
    ids.push(await office.sell(`buyer-${index}@example.com`));
    await office.jobs.failed(ids.at(-1)!);
    await office.hold();
    office.smtp.behave();
  }
  await office.smtp.stop();
  ids.push(await office.sell('buyer-refused@example.com'));
  await office.jobs.failed(ids.at(-1)!);
  await office.hold();
});
afterAll(async () => {
  terminal.close();
  await office.close();
});

const reasons = [...misconducts.map(([, , reason]) => reason), `${UNREACHABLE} (ECONNREFUSED)`];
const ready = async () => (await office.service.call('GET', '/health/ready')).json;
const status = async () =>
  (await terminal.json(['status'])).mail as { waiting: number; failing: FailingMail[] };
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);

test('mooring status lists undelivered mails with their subjects and reasons', async () => {
  const { waiting, failing } = await status();
  expect(waiting).toBe(ids.length);
  expect(failing).toEqual(
    ids.map((about, index) => ({
      kind: 'license_key',
      about,
      reason: reasons[index],
      attempts: 1,
      waiting_since: time,
      next_attempt_at: time,
    })),
  );
  const { stdout } = await terminal.run(['status']);
  expect(stdout).toMatch(/^Mail +12 waiting$/m);
  const lines = [...stdout.matchAll(/^Undelivered +(.*)$/gm)].map(([, line]) => line);
  expect(lines).toEqual(
    failing.map(
      ({ about, reason, next_attempt_at }) =>
        `license_key of ${about}: ${reason}; attempted once, next attempt at ${next_attempt_at}`,
    ),
  );
});

async function failAgain(attempts: number): Promise<void> {
  await office.tryAgain();
  await Promise.all(ids.map((id) => office.jobs.failed(id, attempts)));
  await office.hold();
}

test('an undelivered mail is a warning after three attempts', async () => {
  expect(await ready()).toEqual({ status: 'ready', warnings: [] });
  await failAgain(2);
  expect(await ready()).toEqual({ status: 'ready', warnings: [] });
  await failAgain(3);
  const sentence = `Undelivered mails: 12, because ${UNREACHABLE} (ECONNREFUSED); mooring status names them.`;
  expect(await ready()).toEqual({ status: 'ready', warnings: [sentence] });
  expect((await terminal.json(['status'])).warnings).toContain(sentence);
  const headers = { authorization: `Bearer ${await office.service.staffToken()}` };
  const { json } = await office.service.call('GET', '/support/api/service', undefined, headers);
  expect(json).toEqual({
    warnings: [sentence],
    mail: await status(),
    jobs: expect.arrayContaining([{ task: 'mail_license_key', waiting: 12, late: 0, failing: 12 }]),
  });
});

test('a failed mail is retried after seconds, with increasing pauses', async () => {
  const tries = await Promise.all([1, 2, 3].map((attempts) => office.jobs.failed(ids[0]!, attempts)));
  expect(tries.map(({ attempts, retry_seconds }) => [attempts, Math.round(retry_seconds)])).toEqual([
    [1, 3],
    [2, 7],
    [3, 20],
  ]);
});

test('delivered mails are no longer listed', async () => {
  await office.smtp.comeBack();
  await office.tryAgain();
  await Promise.all(ids.map((id) => office.jobs.done('license_key', id)));
  // The mail whose connection was closed after the message is received twice, and accepted once.
  expect(office.smtp.accepted).toHaveLength(ids.length);
  expect(await status()).toEqual({ waiting: 0, failed: 0, late: 0, failing: [] });
  expect((await ready()).warnings).toEqual([]);
});

test('a mail fails finally after 25 attempts, stays listed, and does not prevent the next one', async () => {
  await office.smtp.stop();
  const about = await office.sell('given-up@example.com');
  await office.jobs.failed(about);
  await office.tryAgain(24);
  await office.jobs.failed(about, 25);
  const { waiting, failing } = await status();
  const givenUp = { about, attempts: 25, next_attempt_at: null, reason: `${UNREACHABLE} (ECONNREFUSED)` };
  expect([waiting, failing]).toEqual([0, [expect.objectContaining(givenUp)]]);
  expect((await terminal.run(['status'])).stdout).toMatch(
    /^Undelivered .*; attempted 25 times, no further attempt$/m,
  );
  expect((await ready()).warnings).toEqual([expect.stringMatching(/^Undelivered mails: 1, /)]);
  expect(office.service.logged.join('')).toContain('job failed for good');
  await office.smtp.comeBack();
  await office.licenses.sendKey(about, ACT);
  await office.smtp.mail(({ to }) => to.includes('given-up@example.com'));
});

test('all attempts of a mail have the same Message-ID', async () => {
  const email = 'often@example.com';
  const mails = () => office.smtp.received.filter(({ to }) => to.includes(email));
  office.smtp.misbehave('message', 451);
  const id = await office.sell(email);
  await office.jobs.failed(id);
  office.smtp.misbehave('message', 'drop');
  await office.tryAgain();
  await office.jobs.failed(id, 2);
  office.smtp.behave();
  await office.tryAgain();
  await office.jobs.done('license_key', id);
  expect(mails().map(({ accepted }) => accepted)).toEqual([false, false, true]);
  expect(new Set(mails().map(({ headers }) => headers['message-id'])).size).toBe(1);
  expect(new Set(mails().map(({ text }) => text)).size).toBe(1);
});

test.each<Stage>(['connect', 'rcpt', 'message'])(
  'a delivery to a mail server that does not answer at %s times out',
  async (stage) => {
    const withTimeouts = await PostOffice.open({ parameters: '?greetingTimeout=300&socketTimeout=300' });
    try {
      withTimeouts.smtp.misbehave(stage, 'stall');
      const id = await withTimeouts.sell('waiting@example.com');
      expect((await withTimeouts.jobs.failed(id)).last_error).toBe(`${UNREACHABLE} (ETIMEDOUT)`);
    } finally {
      await withTimeouts.close();
    }
  },
);

describe('without a running service', () => {
  let created: Awaited<ReturnType<typeof createDatabase>>;
  let database: pg.Client;
  let alone: Terminal;
  beforeAll(async () => {
    created = await createDatabase();
    database = new pg.Client(created.url);
    await database.connect();
    alone = new Terminal({ DATABASE_URL: created.url });
  });
  afterAll(async () => {
    alone.close();
    await database.end();
    await created.drop();
  });

  /** Records a purchase, whose mail waits, and changes the job. @returns the id of the license */
  async function sell(transaction: string, change: string): Promise<string> {
    const paid = ['--transaction', transaction, '--status', 'paid', '--email', 'ada@example.com'];
    const { license_id } = await alone.json(['purchase', 'record', ...paid]);
    const sql = `update graphile_worker._private_jobs set ${change} where payload->>'about' = $1`;
    expect((await database.query(sql, [license_id])).rowCount).toBe(1);
    return license_id;
  }

  test('a mail that is due for over 5 minutes and not locked by a worker is late and a warning', async () => {
    await sell('due', "run_at = now() - interval '4 minutes'");
    await sell('later', "run_at = now() + interval '1 hour'");
    const minutes = "run_at = now() - interval '6 minutes'";
    await sell('under-way', `${minutes}, locked_at = now(), locked_by = 'a worker'`);
    const { mail, warnings } = await alone.json(['status']);
    expect([mail, warnings]).toEqual([{ waiting: 3, failed: 0, late: 0, failing: [] }, []]);
    for (const transaction of ['late', 'as-late']) await sell(transaction, minutes);
    const now = await alone.json(['status']);
    expect(now.mail).toEqual({ waiting: 5, failed: 0, late: 2, failing: [] });
    expect(now.warnings).toEqual(['Mails that no instance sends: 2, due for over 5 minutes.']);
  });

  test('a mail whose service was killed at its last attempt has failed, is listed, and is a warning', async () => {
    const killed = 'attempts = max_attempts, last_error = null, locked_at = null, locked_by = null';
    const about = await sell('killed', `${killed}, run_at = now() - interval '6 minutes'`);
    const reason = 'the service was killed while it sent the mail';
    const { mail, warnings } = await alone.json(['status']);
    const failing = { kind: 'license_key', about, reason, attempts: 25, waiting_since: time };
    expect(mail).toEqual({
      waiting: 5,
      failed: 1,
      late: 2,
      failing: [{ ...failing, next_attempt_at: null }],
    });
    expect(warnings).toContain(`Undelivered mails: 1, because ${reason}; mooring status names them.`);
    const { stdout } = await alone.run(['status']);
    expect(stdout).toMatch(
      new RegExp(`^Undelivered +license_key of ${about}: ${reason}; .*, no further attempt$`, 'm'),
    );
  });
});
