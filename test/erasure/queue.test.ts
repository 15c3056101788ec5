import { beforeEach, expect, jest, test } from '@jest/globals';
import { DAY_MS, type Clock } from '../../src/core/clock.js';
import { ErasureService } from '../../src/erasure/erasure.service.js';
import { findRequest, waitUntilCarriedOut, makeDue } from './harness.js';
import { until } from '../support/until.js';
import { AUDIT_CONTEXT, Service } from '../support/harness.js';
import { OpenTransaction } from '../support/open-transaction.js';
import { withTableLock } from '../support/tables.js';

const ADA = 'ada@example.com';

let license_id: string;
const service = await Service.start();
const erasures = service.app.get(ErasureService);
beforeEach(async () => {
  // The job queue uses the database's clock, so both clocks must agree on what is due.
  service.clock.set(new Date());
  await service.sql('truncate license, erasure_request cascade');
  ({ license_id } = await service.issue({ email: ADA }));
});

interface QueuedJob {
  readonly id: string;
  readonly attempts: number;
  /** The hours until the job is due, by the database's clock. */
  readonly hoursLeft: number;
}

/** Finds the job of a request, unless the job is running. */
const findWaitingJob = async (id: string): Promise<QueuedJob | undefined> =>
  (
    await service.sql<QueuedJob>(
      `select id, attempts, extract(epoch from run_at - now())::float / 3600 as "hoursLeft"
       from graphile_worker.jobs where key = 'erasure ' || $1 and locked_at is null`,
      [id],
    )
  )[0];
const erasureJobs = () => service.sql("select 1 from graphile_worker.jobs where task_identifier = 'erasure'");
const emailOf = async () =>
  (await service.sql('select email from license where id = $1', [license_id]))[0]!['email'];

/** Makes the queue run the job at once, and waits until the job has enqueued a new one. */
async function runJobEarly(id: string): Promise<QueuedJob> {
  const before = (await findWaitingJob(id))!;
  await makeDue(service, 'erasure');
  await until(async () => {
    const job = await findWaitingJob(id);
    return job !== undefined && job.id !== before.id && (await erasureJobs()).length === 1;
  });
  return (await findWaitingJob(id))!;
}

/** Runs a function while the clocks of the service and the database differ. @param work gets the mock of their comparison */
async function whileClocksDiffer(work: (agrees: jest.Spied<Clock['agreesWith']>) => Promise<void>) {
  const agrees = jest.spyOn(service.clock, 'agreesWith').mockReturnValue(false);
  try {
    await work(agrees);
  } finally {
    agrees.mockRestore();
  }
}

test('a job that runs three days early erases nothing, and is enqueued again for its time', async () => {
  const { id } = await erasures.request(ADA);
  const job = await runJobEarly(id);
  expect([await emailOf(), (await findRequest(service, id)).state]).toEqual([ADA, 'waiting']);
  expect(job.attempts).toBe(0);
  expect(job.hoursLeft).toBeGreaterThan(71);
  expect(job.hoursLeft).toBeLessThanOrEqual(72);
  service.clock.advance(3 * DAY_MS);
  await makeDue(service, 'erasure');
  await waitUntilCarriedOut(service, id);
  expect(await emailOf()).toBeNull();
});

test('if the clocks differ, a job erases nothing and is enqueued again for a time within an hour, and it erases after they agree', async () => {
  const { id } = await erasures.request(ADA);
  service.clock.advance(3 * DAY_MS);
  await whileClocksDiffer(async () => {
    const job = await runJobEarly(id);
    expect([await emailOf(), (await findRequest(service, id)).state]).toEqual([ADA, 'waiting']);
    expect(job.attempts).toBe(0);
    expect(job.hoursLeft).toBeGreaterThan(0);
    expect(job.hoursLeft).toBeLessThanOrEqual(1);
  });
  await makeDue(service, 'erasure');
  await waitUntilCarriedOut(service, id);
  expect(await emailOf()).toBeNull();
});

test('a job that repeatedly runs early uses up no attempt and is never enqueued twice', async () => {
  const { id } = await erasures.request(ADA);
  for (let runs = 0; runs < 30; runs += 1) expect((await runJobEarly(id)).attempts).toBe(0);
  service.clock.advance(3 * DAY_MS);
  await makeDue(service, 'erasure');
  await waitUntilCarriedOut(service, id);
});

test('a cancelled request has no job, even if its job runs during the cancellation', async () => {
  const { id } = await erasures.request(ADA);
  await runJobEarly(id);
  await erasures.cancel(id);
  expect(await erasureJobs()).toEqual([]);
  const other = await erasures.request(ADA);
  // The job waits for the row that is being cancelled.
  const cancel = 'update erasure_request set email = null, cancelled_at = now() where id = $1';
  const cancellation = await OpenTransaction.begin(service, cancel, [other.id]);
  const runningJob = erasures.runQueued(other.id, {});
  await cancellation.untilWaiting();
  await cancellation.query(`select graphile_worker.remove_job('erasure ' || $1)`, [other.id]);
  await cancellation.commit();
  // On a slow computer it may fail with a lock timeout, as a job that the queue would retry.
  await runningJob.catch(() => undefined);
  expect(await erasureJobs()).toEqual([]);
  expect(await emailOf()).toBe(ADA);
});

test('while the clocks differ, a request of staff has a holder’s waiting request carried out, also if the holder repeats it', async () => {
  const { id } = await erasures.request(ADA);
  await whileClocksDiffer(async (agrees) => {
    // The lock delays the erasure, so that the request still waits when the holder repeats it.
    await withTableLock(service, 'license', async () => {
      await erasures.request(ADA, AUDIT_CONTEXT);
      agrees.mockReturnValueOnce(true);
      await erasures.request(ADA);
    });
    await waitUntilCarriedOut(service, id);
  });
  expect(await emailOf()).toBeNull();
});

test('a request of staff through an instance whose clock is ahead has a holder’s request carried out at once, also if the holder repeats it', async () => {
  const { id } = await erasures.request(ADA);
  const ahead = new Date(service.clock.now().getTime() + 3_000_000);
  await withTableLock(service, 'license', async () => {
    jest.spyOn(service.clock, 'now').mockReturnValueOnce(ahead);
    await erasures.request(ADA, AUDIT_CONTEXT);
    await erasures.request(ADA);
  });
  await waitUntilCarriedOut(service, id);
  expect(await emailOf()).toBeNull();
});

test('a request of staff stays due at once if the job of the holder’s request runs meanwhile and is enqueued again', async () => {
  const { id } = await erasures.request(ADA);
  await whileClocksDiffer(async () => {
    await withTableLock(service, 'license', async () => {
      await erasures.request(ADA, AUDIT_CONTEXT);
      await erasures.runQueued(id, {});
    });
    await waitUntilCarriedOut(service, id);
  });
  expect(await emailOf()).toBeNull();
});

test('runDue returns the error of a request that fails, and carries out the other due requests', async () => {
  await service.issue({ email: 'bob@example.com' });
  const first = await erasures.request(ADA);
  service.clock.advance(1_000);
  const second = await erasures.request('bob@example.com');
  service.clock.advance(3 * DAY_MS);
  jest.spyOn(erasures, 'run').mockRejectedValueOnce(new Error('the first one fails'));
  expect(await erasures.runDue()).toMatchObject({
    completed: [{ id: second.id, state: 'honoured' }],
    errors: [new Error('the first one fails')],
  });
  const states = async () =>
    Promise.all([first, second].map(async ({ id }) => (await findRequest(service, id)).state));
  expect(await states()).toEqual(['waiting', 'honoured']);
  expect(await erasures.runDue()).toMatchObject({ completed: [{ id: first.id }], errors: [] });
  expect(await states()).toEqual(['honoured', 'honoured']);
  expect(await erasures.runDue()).toEqual({ completed: [], errors: [] });
});
