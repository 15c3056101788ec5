import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type pg from 'pg';
import { DeadlineClient } from '../../src/database/deadline-client.js';
import { SHARED_RESULT_LIMITS } from '../../src/monitoring/shared-result.js';
import { Service } from '../support/harness.js';

let service: Service;
beforeAll(async () => void (service = await Service.start()));
afterAll(() => service.close());

test('is live and ready, with nothing to warn of, when it listens', async () => {
  expect((await service.call('GET', '/health/live')).json).toEqual({ status: 'ok' });
  expect((await service.call('GET', '/health/ready')).json).toEqual({ status: 'ready', warnings: [] });
});

test('callers of /health/ready share one look at the database a second', async () => {
  const ready = () => service.call('GET', '/health/ready');
  await ready();
  const one = await statementsOf(ready);
  expect(one).toBeGreaterThan(0);
  const { sharedMs } = SHARED_RESULT_LIMITS;
  SHARED_RESULT_LIMITS.sharedMs = 1_000;
  expect(await statementsOf(() => Promise.all(Array.from({ length: 20 }, ready)))).toBe(0);
  for (const [passed, asked] of [
    [999, 0],
    [1, one],
    [0, 0],
  ] as const) {
    service.clock.advance(passed);
    expect(await statementsOf(ready)).toBe(asked);
  }
  service.clock.advance(1_000);
  // What another instance writes shows a second later.
  await service.sql("insert into telemetry_inbox (id, received_on) values (gen_random_uuid(), '2026-11-01')");
  expect((await ready()).json.warnings).toEqual([expect.stringContaining('2026-11-01')]);
  await service.sql('delete from telemetry_inbox');
  SHARED_RESULT_LIMITS.sharedMs = sharedMs;
});

/** How many statements about the age of the data and waiting mail were asked meanwhile: the service polls others too. */
async function statementsOf(work: () => Promise<unknown>): Promise<number> {
  const query = jest.spyOn(DeadlineClient.prototype as pg.Client, 'query');
  try {
    await work();
    const asked = query.mock.calls as unknown as [{ text: string } | string][];
    const texts = asked.map(([first]) => (typeof first === 'string' ? first : first.text));
    return texts.filter((text) => /telemetry_waiting|erasure_request|graphile_worker/.test(text)).length;
  } finally {
    query.mockRestore();
  }
}

test('activates and beats, end to end', async () => {
  const license = await service.issue();
  const activated = await service.activate(license, 'studio', { hostname_hint: 'Studio Mac' });
  expect(activated.status).toBe(201);
  const beat = await service.heartbeat(activated.json.token, {
    telemetry: { arch: 'arm64', cpu_cores: 'eight' },
  });
  expect(beat.status).toBe(200);
  expect(beat.json.telemetry).toEqual({ stored: true, dropped: ['cpu_cores'] });
});
