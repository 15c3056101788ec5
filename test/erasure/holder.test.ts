import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { TimeUncertain } from '../../src/database/database-clock.js';
import { ErasureService } from '../../src/erasure/erasure.service.js';
import { RetentionJob } from '../../src/retention/retention.job.js';
import { RetentionService } from '../../src/retention/retention.service.js';
import { findRequest, waitUntilCarriedOut, makeDue, mailsTo, waitForJobs, outbox, sell } from './harness.js';
import { until } from '../support/until.js';
import { AUDIT_CONTEXT, FakeClock, Service, HOUR_MS } from '../support/harness.js';
import { formsOfText, LeakSearch } from '../support/leak-search.js';
import { withTableLock, everyRow } from '../support/tables.js';

/** Far in the future, so that no job of a holder's request is due: the job queue uses the database's clock. */
const NOON = '2096-02-10T12:00:00Z';
const ADA = 'ada@leak.example';

let license_id: string;
const service = await Service.start({ clock: new FakeClock(NOON) });
const erasures = service.app.get(ErasureService);
beforeEach(async () => {
  service.clock.set(NOON);
  license_id = await sell(service, ADA, randomUUID());
});
afterEach(async () => {
  await service.sql(
    `select graphile_worker.remove_job(key) from graphile_worker.jobs where task_identifier = 'erasure'`,
  );
  await service.sql(
    'truncate erasure_request, license, session, activation, purchase, release_request, mail_recipient cascade',
  );
  await waitForJobs(service);
  await rm(join(service.dataDir, 'outbox'), { recursive: true, force: true });
});

const isErased = async () => {
  const [license] = await service.sql('select email from license where id = $1', [license_id]);
  return license!['email'] === null;
};

async function runHourlyJob(): Promise<void> {
  const job = service.app.get(RetentionJob);
  job.run();
  await job.whenIdle();
}

const jobs = () =>
  service.sql<{ id: string; run_at: Date }>(
    "select id, run_at from graphile_worker.jobs where task_identifier = 'erasure'",
  );

/** Waits until a mail with this subject is sent. @returns the mails to Ada with this subject */
const mails = async (subject: RegExp) => {
  await until(async () => (await outbox(service)).some((mail) => subject.test(mail.subject)));
  return (await outbox(service)).filter((mail) => mail.to === ADA && subject.test(mail.subject));
};

test('a request waits three days, and is announced at once by mail', async () => {
  const erasure = await erasures.request(ADA);
  expect(erasure).toMatchObject({
    state: 'waiting',
    asked_by: 'holder',
    reason: null,
    received_on: '2096-02-10',
    due_on: '2096-03-11',
    runs_at: '2096-02-13T12:00:00Z',
  });
  expect(await jobs()).toMatchObject([{ run_at: new Date('2096-02-13T12:00:00Z') }]);
  const [mail, ...more] = await mails(/^You asked for your data .* to be deleted$/);
  expect(more).toEqual([]);
  expect(mail!.text).toContain('It happens on 13 February 2096. For 3 days you can take it back here:');
  expect(mail!.text).toMatch(/^http:\/\/localhost:3000\/portal\/$/m);
  expect(await isErased()).toBe(false);
});

test('the hourly job carries a request out after exactly three days, and not before', async () => {
  const { id } = await erasures.request(ADA);
  service.clock.advance(72 * HOUR_MS - 1);
  await runHourlyJob();
  expect([await isErased(), (await findRequest(service, id)).state]).toEqual([false, 'waiting']);
  service.clock.advance(1);
  await runHourlyJob();
  expect([await isErased(), (await findRequest(service, id)).state]).toEqual([true, 'honoured']);
  expect(await jobs()).toEqual([]);
});

test('if the clocks of the service and the database differ, no request is carried out, also if the retention fails before it compares them', async () => {
  const { id } = await erasures.request(ADA);
  service.clock.advance(72 * HOUR_MS);
  jest.spyOn(service.clock, 'agreesWith').mockReturnValue(false);
  jest.spyOn(service.app.get(RetentionService), 'run').mockRejectedValue(new Error('no connection'));
  try {
    await runHourlyJob();
    await expect(erasures.runDue()).rejects.toThrow(TimeUncertain);
    expect([await isErased(), (await findRequest(service, id)).state]).toEqual([false, 'waiting']);
  } finally {
    jest.restoreAllMocks();
  }
  await runHourlyJob();
  expect(await isErased()).toBe(true);
});

test('if the clocks of the service and the database differ, a request of a holder is refused as unavailable, and a request of staff is carried out', async () => {
  jest.spyOn(service.clock, 'agreesWith').mockReturnValue(false);
  try {
    await expect(erasures.request(ADA)).rejects.toMatchObject({ code: 'unavailable' });
    expect(await jobs()).toEqual([]);
    await waitUntilCarriedOut(service, (await erasures.request(ADA, AUDIT_CONTEXT)).id);
  } finally {
    jest.restoreAllMocks();
  }
});

test('the job of a request carries it out when it is due, and the next hourly job changes nothing', async () => {
  const { id } = await erasures.request(ADA);
  service.clock.advance(72 * HOUR_MS);
  await makeDue(service, 'erasure');
  const done = await waitUntilCarriedOut(service, id);
  expect(done).toMatchObject({ honoured_at: '2096-02-13T12:00:00Z', email: null });
  service.clock.advance(HOUR_MS);
  await runHourlyJob();
  expect(await findRequest(service, id)).toEqual(done);
  expect(await mailsTo(service, ADA, /was deleted/)).toHaveLength(1);
});

test('an erasure also works for a license with 40,000 activations', async () => {
  const machines = 40_000;
  await service.sql(
    `insert into activation (id, license_id, machine_id, app_version, activated_at)
     select gen_random_uuid(), $1, sha256(n::text::bytea), '1.0', now() from generate_series(1, $2) n`,
    [license_id, machines],
  );
  const { id } = await erasures.request(ADA);
  expect((await erasures.run(id)).erased).toMatchObject({ activations: machines });
  expect(await service.sql('select 1 from activation where machine_id is not null limit 1')).toEqual([]);
});

test('a cancelled request has no address and no job any more', async () => {
  const search = new LeakSearch(formsOfText(ADA));
  // Without the license, only the purchase and the request have the address.
  await service.sql('delete from license');
  const { id } = await erasures.request(ADA);
  service.clock.advance(72 * HOUR_MS - 1);
  await erasures.cancel(id);
  expect(await findRequest(service, id)).toMatchObject({
    state: 'taken_back',
    email: null,
    days_left: null,
    honoured_at: null,
    cancelled_at: '2096-02-13T11:59:59Z',
  });
  expect(await jobs()).toEqual([]);
  const rows = (await everyRow(service.database)).filter((row) => !row.startsWith('public.purchase'));
  expect([...search.in(rows.join('\n'))]).toEqual([]);
});

test('a cancelled request is never carried out, and a later one gets a new id', async () => {
  const { id } = await erasures.request(ADA);
  await erasures.cancel(id);
  service.clock.advance(100 * HOUR_MS);
  await runHourlyJob();
  await erasures.run(id);
  expect([await isErased(), (await findRequest(service, id)).state]).toEqual([false, 'taken_back']);
  const again = await erasures.request(ADA);
  expect(again.id).not.toBe(id);
  expect(again).toMatchObject({ state: 'waiting', runs_at: '2096-02-17T16:00:00Z' });
  service.clock.advance(72 * HOUR_MS);
  await runHourlyJob();
  expect(await isErased()).toBe(true);
});

test('a request that was carried out or cancelled, or that does not exist, cannot be cancelled', async () => {
  const { id } = await erasures.request(ADA);
  await erasures.run(id);
  await expect(erasures.cancel(id)).rejects.toMatchObject({ code: 'not_found' });
  expect((await findRequest(service, id)).state).toBe('honoured');
  const again = await erasures.request(ADA);
  await erasures.cancel(again.id);
  await expect(erasures.cancel(again.id)).rejects.toMatchObject({ code: 'not_found' });
  await expect(erasures.cancel(randomUUID())).rejects.toMatchObject({ code: 'not_found' });
});

test('a second request returns the first one, with the same time', async () => {
  const first = await erasures.request(ADA);
  await mails(/^You asked for your data/);
  service.clock.advance(HOUR_MS);
  const second = await erasures.request(ADA);
  expect(second).toEqual(first);
  expect(await jobs()).toMatchObject([{ run_at: new Date(first.runs_at) }]);
  expect(await mails(/^You asked for your data/)).toHaveLength(1);
});

test('ten concurrent requests create one request with one job', async () => {
  const created = await Promise.all(Array.from({ length: 10 }, () => erasures.request(ADA)));
  expect(new Set(created.map(({ id }) => id)).size).toBe(1);
  expect(await jobs()).toHaveLength(1);
});

test('a request of staff for the same address makes the waiting one due at once', async () => {
  const first = await erasures.request(ADA);
  service.clock.advance(HOUR_MS);
  const second = await erasures.request(ADA, AUDIT_CONTEXT);
  expect(second).toMatchObject({ id: first.id, asked_by: 'holder', runs_at: '2096-02-10T13:00:00Z' });
  expect(await waitUntilCarriedOut(service, first.id)).toMatchObject({ honoured_at: '2096-02-10T13:00:00Z' });
});

test('a request of a holder does not postpone a request of staff', async () => {
  // The lock delays the erasure that staff requested, so that it still waits when the holder requests one.
  const { first, second } = await withTableLock(service, 'license', async () => ({
    first: await erasures.request(ADA, AUDIT_CONTEXT),
    second: await erasures.request(ADA),
  }));
  expect([second.id, second.runs_at]).toEqual([first.id, NOON]);
  expect(await waitUntilCarriedOut(service, first.id)).toMatchObject({ honoured_at: NOON });
  // No mail announces three days of waiting.
  await waitForJobs(service);
  expect((await outbox(service)).filter(({ subject }) => subject.startsWith('You asked'))).toEqual([]);
});

test('/health/ready warns of a late request until the end of the day on which it is due, then that it is overdue', async () => {
  await erasures.request(ADA);
  // Other warnings, such as that of the missing retention runs, are left out.
  const warnings = async () =>
    (await service.call('GET', '/health/ready')).json.warnings.filter((warning: string) =>
      warning.startsWith('An erasure request'),
    );
  service.clock.set('2096-03-11T23:59:59Z');
  expect(await warnings()).toEqual([expect.stringContaining('should have been carried out on')]);
  service.clock.set('2096-03-12T00:00:00Z');
  expect(await warnings()).toEqual(['An erasure request was due on 2096-03-11 and is overdue.']);
});

test.each([
  ['2096-01-31', '2096-03-01', 'over a 29 February'],
  ['2095-01-31', '2095-03-02', 'over a 28 February'],
  ['2096-02-29', '2096-03-30', 'from a 29 February'],
  ['2096-12-01', '2096-12-31', 'to the end of a year'],
  ['2096-12-02', '2097-01-01', 'over the end of a year'],
  ['2100-01-30', '2100-03-01', 'in a hundredth year, which is no leap year'],
])('a request of %s is due on %s, after 30 days (%s)', async (received_on, due_on) => {
  for (const time of ['00:00:00Z', '23:59:59.999Z']) {
    service.clock.set(`${received_on}T${time}`);
    const request = await erasures.request(`${time}@example.com`);
    expect(request).toMatchObject({ received_on, due_on, days_left: 30 });
  }
  service.clock.set(`${due_on}T23:59:59.999Z`);
  expect((await erasures.list()).map(({ days_left }) => days_left)).toEqual([0, 0]);
  service.clock.advance(1);
  expect((await erasures.list()).map(({ days_left }) => days_left)).toEqual([-1, -1]);
});
