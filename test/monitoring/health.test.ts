import { expect, jest, test } from '@jest/globals';
import type pg from 'pg';
import { DeadlineClient } from '../../src/database/deadline-client.js';
import { SHARED_RESULT_LIMITS } from '../../src/monitoring/warnings/shared-result.js';
import { Service } from '../support/harness.js';

const service = await Service.start();

test('the service is live and ready, without warnings, as soon as it listens', async () => {
  expect((await service.call('GET', '/health/live')).json).toEqual({ status: 'ok' });
  expect((await service.call('GET', '/health/ready')).json).toEqual({ status: 'ready', warnings: [] });
});

test('callers of /health/ready share the result of its queries for a second', async () => {
  const ready = () => service.call('GET', '/health/ready');
  await ready();
  const statementsOfOneCall = await countStatements(ready);
  expect(statementsOfOneCall).toBeGreaterThan(0);
  // Without this line the tests share no result (test/support/limits.ts).
  const { sharedMs } = SHARED_RESULT_LIMITS;
  SHARED_RESULT_LIMITS.sharedMs = 1_000;
  expect(await countStatements(() => Promise.all(Array.from({ length: 20 }, ready)))).toBe(0);
  for (const [passedMs, count] of [
    [999, 0],
    [1, statementsOfOneCall],
    [0, 0],
  ] as const) {
    service.clock.advance(passedMs);
    expect(await countStatements(ready)).toBe(count);
  }
  service.clock.advance(1_000);
  // The last result is a second old now, so the next call reports what another instance has just written.
  await service.sql("insert into telemetry_inbox (id, received_on) values (gen_random_uuid(), '2026-11-01')");
  expect((await ready()).json.warnings).toEqual([expect.stringContaining('2026-11-01')]);
  await service.sql('delete from telemetry_inbox');
  SHARED_RESULT_LIMITS.sharedMs = sharedMs;
});

/** Counts the statements of /health/ready that run during the work. Others run too, such as those of the job queue every 2 s. */
async function countStatements(work: () => Promise<unknown>): Promise<number> {
  const query = jest.spyOn(DeadlineClient.prototype as pg.Client, 'query');
  try {
    await work();
    const calls = query.mock.calls as unknown as [{ text: string } | string][];
    const texts = calls.map(([first]) => (typeof first === 'string' ? first : first.text));
    return texts.filter((text) => /telemetry_waiting|erasure_request|event_recording/.test(text)).length;
  } finally {
    query.mockRestore();
  }
}
