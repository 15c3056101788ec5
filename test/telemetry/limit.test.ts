import { expect, test } from '@jest/globals';
import { TelemetryStore } from '../../src/telemetry/telemetry.store.js';
import { Service } from '../support/harness.js';

const service = await Service.start({ environment: { TELEMETRY_ROWS_PER_DAY: '5' } });
const { token } = await service.issueActivated();

const sendHeartbeat = async () => {
  const { status, json } = await service.heartbeat(token, { telemetry: { arch: 'arm64', cpu_cores: 'x' } });
  expect(status).toBe(200);
  return json.telemetry as { stored: boolean; dropped: string[] };
};
const rows = async () => (await service.sql('select 1 from telemetry_inbox')).length;
const logged = () => service.logged.filter((line) => line.includes('daily telemetry limit reached'));

test('beyond TELEMETRY_ROWS_PER_DAY nothing is stored until midnight UTC, and the heartbeat is confirmed', async () => {
  service.clock.set('2026-11-20T23:00:00Z');
  const answers = await Promise.all(Array.from({ length: 8 }, sendHeartbeat));
  // The order of the responses is open, because the heartbeats were concurrent.
  expect(answers.toSorted((a, b) => Number(b.stored) - Number(a.stored))).toEqual([
    ...Array.from({ length: 5 }, () => ({ stored: true, dropped: ['cpu_cores'] })),
    ...Array.from({ length: 3 }, () => ({ stored: false, dropped: [] })),
  ]);
  expect(await rows()).toBe(5);
  expect(logged()).toHaveLength(1);
  service.clock.set('2026-11-20T23:59:59.999Z');
  expect((await sendHeartbeat()).stored).toBe(false);
  service.clock.set('2026-11-21T00:00:00Z');
  for (let n = 0; n < 5; n += 1) expect((await sendHeartbeat()).stored).toBe(true);
  expect([(await sendHeartbeat()).stored, (await sendHeartbeat()).stored, await rows()]).toEqual([
    false,
    false,
    10,
  ]);
  expect(logged()).toHaveLength(2);
});

test('a refused block does not count towards the limit', async () => {
  service.clock.set('2026-11-22T00:00:00Z');
  for (let n = 0; n < 9; n += 1) await service.heartbeat(token, { telemetry: 'none' });
  expect((await sendHeartbeat()).stored).toBe(true);
});

test('a block that is not stored, by an error or because no time is left, does not count towards the limit', async () => {
  service.clock.set('2026-11-22T12:00:00Z');
  const store = service.app.get(TelemetryStore);
  await service.sql('alter table telemetry_inbox rename to elsewhere');
  for (let n = 0; n < 9; n += 1) expect((await sendHeartbeat()).stored).toBe(false);
  await service.sql('alter table elsewhere rename to telemetry_inbox');
  for (let n = 0; n < 9; n += 1)
    expect(await store.store({ arch: 'arm64' }, 0)).toEqual({ stored: false, dropped: [] });
  // One block of this day was stored by the test before.
  for (let n = 0; n < 4; n += 1) expect((await sendHeartbeat()).stored).toBe(true);
  expect((await sendHeartbeat()).stored).toBe(false);
});

test('blocks are counted by outcome, and dropped members are counted', async () => {
  service.clock.set('2026-11-23T00:00:00Z');
  const store = service.app.get(TelemetryStore);
  const before = { ...store.blocks, dropped: store.droppedMembers };
  for (let n = 0; n < 7; n += 1) await sendHeartbeat();
  for (let n = 0; n < 3; n += 1) await service.heartbeat(token, { telemetry: 'none' });
  expect({ ...store.blocks, dropped: store.droppedMembers }).toEqual({
    stored: before.stored + 5,
    over_limit: before.over_limit + 2,
    refused: before.refused + 3,
    failed: before.failed,
    dropped: before.dropped + 5,
  });
  // The comparison above also succeeds if both sides are NaN.
  for (const count of Object.values(before)) expect(count).not.toBeNaN();
});
