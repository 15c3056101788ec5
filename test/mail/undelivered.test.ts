import { beforeAll, describe, expect, jest, test } from '@jest/globals';
import pg from 'pg';
import type { FailingMail } from '../../src/http/responses/api-types.js';
import { Terminal } from '../support/processes/cli-harness.js';
import { AUDIT_CONTEXT, createDatabase, connect, type TestDatabase } from '../support/harness.js';
import { MailHarness } from './harness.js';
import type { Misconduct, Stage } from './smtp-server.js';

const UNREACHABLE = 'the mail server cannot be reached';
const REFUSED = 'the mail server refused the';

/** The ways in which the mail server misbehaves, and the reasons that are reported. */
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

/** The ids of the licenses whose mails failed, in the order of `misconducts`; the last mail reached no server. */
const ids: string[] = [];
const harness = await MailHarness.start({ credentials: 'mooring:secret@' });
await harness.holdRetries();
const terminal = new Terminal({ DATABASE_URL: harness.service.databaseUrl });
for (const [index, [stage, misconduct]] of misconducts.entries()) {
  harness.smtp.misbehave(stage, misconduct);
  ids.push(await harness.sell(`buyer-${index}@example.com`));
  await harness.jobs.untilFailed(ids.at(-1)!);
  harness.smtp.behave();
}
await harness.smtp.stop();
ids.push(await harness.sell('buyer-refused@example.com'));
await harness.jobs.untilFailed(ids.at(-1)!);

const reasons = [...misconducts.map(([, , reason]) => reason), `${UNREACHABLE} (ECONNREFUSED)`];
const readReadiness = async () => (await harness.service.call('GET', '/health/ready')).json;
const status = async () =>
  (await terminal.json(['status'])).mail as { waiting: number; failing: FailingMail[] };
const anyTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);

test('a delivery that ends because the job queue could not use the database has this reason', async () => {
  // graphile-worker itself prints the error of the database to the console.
  const print = jest.spyOn(console, 'error').mockImplementation(() => undefined);
  const stalling = await MailHarness.start();
  const { service, smtp, jobs } = stalling;
  smtp.misbehave('message', 'stall');
  const reached = smtp.untilReached('message');
  const id = await stalling.sell('stalled@example.com');
  await reached;
  // No worker can take the second job, so the worker pool ends.
  await service.sql(`create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
    create trigger refuse before update on graphile_worker._private_jobs for each row when (old.key = 'refused')
      execute function refuse();
    select graphile_worker.add_job('mail_license_key', '{}', job_key := 'refused')`);
  expect((await jobs.untilFailed(id)).last_error).toBe(
    'the job queue was restarted after an error of the database',
  );
  await stalling.close();
  print.mockRestore();
});

test('mooring status lists undelivered mails, with the license that each is about and the reason', async () => {
  const { waiting, failing } = await status();
  expect(waiting).toBe(ids.length);
  expect(failing).toEqual(
    ids.map((about, index) => ({
      kind: 'license_key',
      about,
      reason: reasons[index],
      attempts: 1,
      waiting_since: anyTime,
      next_attempt_at: anyTime,
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
  await harness.runWaitingJobs();
  await Promise.all(ids.map((id) => harness.jobs.untilFailed(id, attempts)));
}

test('an undelivered mail is a warning after three attempts', async () => {
  expect(await readReadiness()).toEqual({ status: 'ready', warnings: [] });
  await failAgain(2);
  expect(await readReadiness()).toEqual({ status: 'ready', warnings: [] });
  await failAgain(3);
  const warning = `Undelivered mails: 12, because ${UNREACHABLE} (ECONNREFUSED). They are listed by mooring status and on the support page.`;
  expect(await readReadiness()).toEqual({ status: 'ready', warnings: [warning] });
  expect((await terminal.json(['status'])).warnings).toContain(warning);
  const headers = { authorization: `Bearer ${await harness.service.staffToken()}` };
  const { json } = await harness.service.call('GET', '/support/api/service', undefined, headers);
  expect(json).toEqual({
    warnings: [warning],
    mail: await status(),
    events: expect.objectContaining({ is_recording: false }),
    jobs: expect.arrayContaining([{ task: 'mail_license_key', waiting: 12, late: 0, failing: 12 }]),
  });
});

test('a failed mail is retried after seconds, with increasing pauses', async () => {
  const tries = await Promise.all([1, 2, 3].map((attempts) => harness.jobs.untilFailed(ids[0]!, attempts)));
  expect(tries.map(({ attempts, retry_seconds }) => [attempts, Math.round(retry_seconds)])).toEqual([
    [1, 3],
    [2, 7],
    [3, 20],
  ]);
});

test('delivered mails are no longer listed', async () => {
  await harness.smtp.listen();
  await harness.runWaitingJobs();
  await Promise.all(ids.map((id) => harness.jobs.untilDone('license_key', id)));
  // A mail that failed at `message` is received twice, and accepted once.
  expect(harness.smtp.accepted).toHaveLength(ids.length);
  expect(await status()).toEqual({ waiting: 0, untried: 0, failed: 0, late: 0, failing: [] });
  expect((await readReadiness()).warnings).toEqual([]);
});

test('a mail is not retried after 25 failed attempts, stays listed, and does not prevent a later mail about the same license', async () => {
  await harness.smtp.stop();
  const about = await harness.sell('given-up@example.com');
  await harness.jobs.untilFailed(about);
  await harness.runWaitingJobs(24);
  await harness.jobs.untilFailed(about, 25);
  const { waiting, failing } = await status();
  const givenUp = { about, attempts: 25, next_attempt_at: null, reason: `${UNREACHABLE} (ECONNREFUSED)` };
  expect([waiting, failing]).toEqual([0, [expect.objectContaining(givenUp)]]);
  expect((await terminal.run(['status'])).stdout).toMatch(
    /^Undelivered .*; attempted 25 times, no further attempt$/m,
  );
  expect((await readReadiness()).warnings).toEqual([expect.stringMatching(/^Undelivered mails: 1, /)]);
  expect(harness.service.logged.join('')).toContain('job failed for good');
  await harness.smtp.listen();
  await harness.licenses.sendKey(about, AUDIT_CONTEXT);
  await harness.smtp.untilAccepted(({ to }) => to.includes('given-up@example.com'));
});

test('all attempts of a mail have the same Message-ID', async () => {
  const email = 'often@example.com';
  const mails = () => harness.smtp.mailsTo(email);
  harness.smtp.misbehave('message', 451);
  const id = await harness.sell(email);
  await harness.jobs.untilFailed(id);
  harness.smtp.misbehave('message', 'drop');
  await harness.runWaitingJobs();
  await harness.jobs.untilFailed(id, 2);
  harness.smtp.behave();
  await harness.runWaitingJobs();
  await harness.jobs.untilDone('license_key', id);
  expect(mails().map(({ accepted }) => accepted)).toEqual([false, false, true]);
  expect(new Set(mails().map(({ headers }) => headers['message-id'])).size).toBe(1);
  expect(new Set(mails().map(({ text }) => text)).size).toBe(1);
});

test.each<Stage>(['connect', 'rcpt', 'message'])(
  'a delivery to a mail server that does not answer at %s times out',
  async (stage) => {
    const withTimeouts = await MailHarness.start({ parameters: '?greetingTimeout=300&socketTimeout=300' });
    withTimeouts.smtp.misbehave(stage, 'stall');
    const id = await withTimeouts.sell('waiting@example.com');
    expect((await withTimeouts.jobs.untilFailed(id)).last_error).toBe(`${UNREACHABLE} (ETIMEDOUT)`);
    await withTimeouts.close();
  },
);

describe('without a running service', () => {
  let created: TestDatabase;
  let database: pg.Client;
  let withoutService: Terminal;
  beforeAll(async () => {
    created = await createDatabase();
    database = await connect(created.url);
    withoutService = new Terminal({ DATABASE_URL: created.url });
  });

  /** Records a purchase, whose mail waits, and changes the job of the mail. @returns the id of the license */
  async function sell(transaction: string, change: string): Promise<string> {
    const paid = ['--transaction', transaction, '--status', 'paid', '--email', 'ada@example.com'];
    const { license_id } = await withoutService.json(['purchase', 'record', ...paid]);
    const sql = `update graphile_worker._private_jobs set ${change} where payload->>'about' = $1`;
    expect((await database.query(sql, [license_id])).rowCount).toBe(1);
    return license_id;
  }

  test('a mail that has been due for over 5 minutes and is not locked by a worker is late, and is a warning', async () => {
    await sell('due', "run_at = now() - interval '4 minutes'");
    await sell('later', "run_at = now() + interval '1 hour'");
    const dueSixMinutesAgo = "run_at = now() - interval '6 minutes'";
    await sell('under-way', `${dueSixMinutesAgo}, locked_at = now(), locked_by = 'a worker'`);
    const { mail, warnings } = await withoutService.json(['status']);
    expect([mail, warnings]).toEqual([{ waiting: 3, untried: 3, failed: 0, late: 0, failing: [] }, []]);
    for (const transaction of ['late', 'as-late']) await sell(transaction, dueSixMinutesAgo);
    const now = await withoutService.json(['status']);
    expect(now.mail).toEqual({ waiting: 5, untried: 5, failed: 0, late: 2, failing: [] });
    expect(now.warnings).toEqual(['Mails that no instance sends: 2, due for over 5 minutes.']);
  });

  test('a late sign-in code causes no warning, because that would reveal that an address has a license', async () => {
    const { rows } = await database.query(
      `select id from graphile_worker.add_job('mail_sign_in_code', job_key := 'sign_in_code a test', run_at := now() - interval '6 minutes')`,
    );
    const { mail, warnings } = await withoutService.json(['status']);
    expect([mail.waiting, mail.late]).toEqual([6, 2]);
    expect(warnings).toEqual(['Mails that no instance sends: 2, due for over 5 minutes.']);
    await database.query('select graphile_worker.complete_jobs($1)', [rows.map(({ id }) => id as string)]);
  });

  test('a mail whose service was killed at its last attempt has failed, is listed, and is a warning', async () => {
    const killed = 'attempts = max_attempts, last_error = null, locked_at = null, locked_by = null';
    const about = await sell('killed', `${killed}, run_at = now() - interval '6 minutes'`);
    const reason = 'the service was killed while it sent the mail';
    const { mail, warnings } = await withoutService.json(['status']);
    const failing = { kind: 'license_key', about, reason, attempts: 25, waiting_since: anyTime };
    expect(mail).toEqual({
      waiting: 5,
      untried: 5,
      failed: 1,
      late: 2,
      failing: [{ ...failing, next_attempt_at: null }],
    });
    expect(warnings).toContain(
      `Undelivered mails: 1, because ${reason}. They are listed by mooring status and on the support page.`,
    );
    const { stdout } = await withoutService.run(['status']);
    expect(stdout).toMatch(
      new RegExp(`^Undelivered +license_key of ${about}: ${reason}; .*, no further attempt$`, 'm'),
    );
  });

  test('if more mails fail than are listed, the warning has the smallest possible number', async () => {
    // 100 mails are listed. One of them was attempted only once, so it is no reason for a warning.
    await database.query(
      `insert into graphile_worker._private_jobs (task_id, key, max_attempts, attempts, last_error, created_at)
       select task_id, 'license_key ' || gen_random_uuid(), 25, case when n = 1 then 1 else 3 end, 'a test', '2001-01-01'
       from graphile_worker._private_jobs, generate_series(1, 100) as n where attempts = 25`,
    );
    const { warnings } = await withoutService.json(['status']);
    expect(warnings).toContainEqual(
      expect.stringMatching(/^Undelivered mails: at least 99, because a test\./),
    );
  });
});
