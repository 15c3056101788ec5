import { afterEach, expect, jest, test } from '@jest/globals';
import { DataSource } from 'typeorm';
import { Batch, BatchQueueFull } from '../../src/database/batch.js';
import { poolOf } from '../../src/database/data-source.js';
import { REQUEST_TIMEOUTS_MS } from '../../src/database/request-timeouts.js';
import { HeartbeatService } from '../../src/heartbeat/heartbeat.service.js';
import { Admission } from '../../src/http/limits/admission.js';
import { TELEMETRY_NAMES } from '../../src/telemetry/telemetry.fields.js';
import { TelemetryStore } from '../../src/telemetry/telemetry.store.js';
import { Service } from '../support/harness.js';
import { withLimits } from '../support/limits.js';
import { whileGone, whileLocked } from '../support/tables.js';
import { EVERY_FIELD } from './every-field.js';

const ALL_NULL = Object.fromEntries(TELEMETRY_NAMES.map((name) => [name, null]));
const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** A time budget for storing a block that the tests do not use up. */
const STORE_BUDGET_MS = 60_000;

const service = await Service.start();
const { token } = await service.issueActivated();
afterEach(() => service.sql('truncate telemetry_inbox'));

/** Sends a heartbeat, which must be confirmed. @returns the telemetry member of the response */
async function send(telemetry: unknown): Promise<{ stored: boolean; dropped: string[] }> {
  const { status, json } = await service.heartbeat(token, { telemetry });
  expect([status, json.license.status]).toEqual([200, 'active']);
  expect(json.token).toEqual(expect.any(String));
  return json.telemetry;
}

const stored = () =>
  service.sql<Record<string, unknown>>('select *, received_on::text as received_on from telemetry_inbox');

test('a heartbeat stores all fields with the day and a random id, and nothing else', async () => {
  service.clock.set('2026-11-20T23:59:59.999Z');
  expect(await send(EVERY_FIELD)).toEqual({ stored: true, dropped: [] });
  service.clock.set('2026-11-21T00:00:00.000Z');
  expect(await send({ arch: 'x86_64' })).toEqual({ stored: true, dropped: [] });
  const rows = await stored();
  expect(rows).toEqual([
    { ...EVERY_FIELD, id: expect.stringMatching(UUID_V4), received_on: '2026-11-20' },
    { ...ALL_NULL, arch: 'x86_64', id: expect.stringMatching(UUID_V4), received_on: '2026-11-21' },
  ]);
  expect(rows[0]!['id']).not.toBe(rows[1]!['id']);
});

test('crash_sig is stored in lower case', async () => {
  expect(await send({ crash_sig: '0123456789ABCDEF' })).toEqual({ stored: true, dropped: [] });
  expect(await stored()).toMatchObject([{ crash_sig: '0123456789abcdef' }]);
});

test('unknown members are ignored: they are not in the response, the database or the log', async () => {
  const canary = { serial: 'canary7151', canary7152: 1, nested: { canary7153: ['canary7154'] } };
  const block = JSON.stringify({ arch: 'arm64', ...canary }).replace('{', '{"__proto__":{"cpu_cores":7},');
  const body = `{"token":"${token}","app_version":"3.2","telemetry":${block}}`;
  const { status, json } = await service.call('POST', '/v1/heartbeat', body);
  expect([status, json.telemetry]).toEqual([200, { stored: true, dropped: [] }]);
  const rows = await stored();
  expect(rows).toMatchObject([{ ...ALL_NULL, arch: 'arm64' }]);
  expect(JSON.stringify(rows) + JSON.stringify(json) + service.logged.join('')).not.toContain('canary715');
});

test('an invalid value is stored as null, only its name is returned, and it is not logged', async () => {
  expect(await send({ arch: 'canary 7161', cpu_cores: 'canary7162', soc_name: 'M3' })).toEqual({
    stored: true,
    dropped: ['arch', 'cpu_cores'],
  });
  expect(await stored()).toMatchObject([{ ...ALL_NULL, soc_name: 'M3' }]);
  expect(service.logged.join('')).not.toContain('canary');
});

const deep = (depth: number, [open, close]: [string, string]) => open.repeat(depth) + close.repeat(depth);

test.each([
  ['null', 'null'],
  ['a number', '7'],
  ['text', '"arm64"'],
  ['true', 'true'],
  ['a list', '[{"arch":"arm64"}]'],
  ['a list 5,000 deep', deep(5_000, ['[', ']'])],
  ['an object over 8 KiB', JSON.stringify({ arch: 'arm64', more: 'x'.repeat(8_192) })],
  [
    'an object over 8 KiB in bytes, but not in characters',
    JSON.stringify({ arch: 'arm64', more: 'é'.repeat(4_100) }),
  ],
  ['an object over 8 KiB with a member 5,000 deep', `{"arch":"arm64","more":${deep(5_000, ['[', ']'])}}`],
  ['an object over 8 KiB that is 3,000 deep', `{"arch":${deep(1_500, ['{"a":[', ']}'])}}`],
])('if telemetry is %s, nothing is stored, and the heartbeat is confirmed', async (_what, telemetry) => {
  const body = `{"token":"${token}","app_version":"3.2","telemetry":${telemetry}}`;
  const { status, json } = await service.call('POST', '/v1/heartbeat', body);
  expect([status, json.telemetry]).toEqual([200, { stored: false, dropped: [] }]);
  expect(await stored()).toEqual([]);
});

test('a block of exactly 8 KiB is accepted, and a larger one is not', async () => {
  const padding = (size: number) => ({
    arch: 'arm64',
    more: 'x'.repeat(size - '{"arch":"arm64","more":""}'.length),
  });
  expect(await send(padding(8_192))).toEqual({ stored: true, dropped: [] });
  expect(await send(padding(8_193))).toEqual({ stored: false, dropped: [] });
});

test('an empty block has no dropped members', async () => {
  expect((await send({})).dropped).toEqual([]);
});

test('a refused heartbeat stores no telemetry', async () => {
  const license = await service.issue();
  const revoked = (await service.activate(license)).json.token;
  await service.setLicense(license.license_id, { staff_status: 'revoked' });
  for (const refusedToken of [revoked, 'forged', '']) {
    const { status, json } = await service.heartbeat(refusedToken, { telemetry: EVERY_FIELD });
    expect(status).toBeGreaterThanOrEqual(400);
    expect(json.telemetry).toBeUndefined();
  }
  expect(await stored()).toEqual([]);
});

test('a heartbeat is confirmed without telemetry if the inbox is missing or locked', async () => {
  const inbox = 'telemetry_inbox';
  expect(await whileGone(service, inbox, () => send(EVERY_FIELD))).toMatchObject({ stored: false });
  expect(await whileLocked(service, inbox, () => send(EVERY_FIELD))).toMatchObject({ stored: false });
  expect(await stored()).toEqual([]);
  expect(await send(EVERY_FIELD)).toMatchObject({ stored: true });
});

test('200 concurrent heartbeats store 200 complete rows', async () => {
  const blocks = Array.from({ length: 200 }, (_, i) => ({
    uptime_hours: i,
    soc_name: `chip "${i}", {x}`,
    ...(i % 2 && { cpu_cores: i }),
  }));
  const answers = await Promise.all(blocks.map(send));
  expect(answers).toEqual(blocks.map(() => ({ stored: true, dropped: [] })));
  const rows = await stored();
  const sorted = rows.toSorted((a, b) => Number(a['uptime_hours']) - Number(b['uptime_hours']));
  expect(sorted).toMatchObject(blocks.map((block) => ({ ...ALL_NULL, ...block })));
  expect(new Set(rows.map(({ id }) => id)).size).toBe(200);
});

test('blocks of one batch are inserted in the order of their random ids, not in that of their arrival', async () => {
  const store = service.app.get(TelemetryStore);
  await Promise.all(Array.from({ length: 30 }, (_, i) => store.store({ uptime_hours: i }, STORE_BUDGET_MS)));
  const written = (await service.sql<{ id: string }>('select id from telemetry_inbox order by ctid')).map(
    ({ id }) => id,
  );
  expect(written).toHaveLength(30);
  expect(written).toEqual(written.toSorted());
});

test.each([
  ['a failure is logged', new Error('gone'), 1],
  ['nothing is logged if too many callers wait, because each would write a line', new BatchQueueFull(), 0],
])('%s', async (_what, error, lines) => {
  const store = service.app.get(TelemetryStore);
  const logged = () => service.logged.filter((line) => line.includes('telemetry not stored')).length;
  const before = logged();
  const add = jest.spyOn(Batch.prototype, 'add').mockRejectedValueOnce(error);
  try {
    expect(await store.store({ arch: 'arm64', cpu_cores: 'x' }, STORE_BUDGET_MS)).toEqual({
      stored: false,
      dropped: ['cpu_cores'],
    });
  } finally {
    add.mockRestore();
  }
  expect(logged() - before).toBe(lines);
});

test('if the database does not store the block in time, the heartbeat is confirmed without telemetry', async () => {
  const pool = poolOf(service.app.get(DataSource));
  const { blocks } = service.app.get(TelemetryStore);
  const { failed } = blocks;
  const query = pool.query.bind(pool) as (statement: { name?: string }) => Promise<unknown>;
  const insert = Promise.withResolvers<never>();
  const answer = jest.fn((statement: { name?: string }) =>
    statement.name === 'insert telemetry' ? insert.promise : query(statement),
  );
  const querySpy = jest.spyOn(pool, 'query').mockImplementation(answer as typeof pool.query);
  // The confirmation takes no time by this clock. Otherwise no time would be left for the insert on a slow machine.
  const clockSpy = jest.spyOn(performance, 'now').mockReturnValue(performance.now());
  try {
    const result = await withLimits({ telemetry: 100 }, () => send(EVERY_FIELD));
    expect(result).toEqual({ stored: false, dropped: [] });
    expect(blocks.failed).toBe(failed + 1);
    expect(answer).toHaveBeenCalledWith(expect.objectContaining({ name: 'insert telemetry' }));
  } finally {
    for (const spy of [querySpy, clockSpy]) spy.mockRestore();
    insert.reject(new Error('never'));
  }
});

test('the time of the confirmation reduces the time for storing the block', async () => {
  const [confirmSpy, storeSpy] = [
    jest.spyOn(service.app.get(HeartbeatService), 'confirm'),
    jest.spyOn(service.app.get(TelemetryStore), 'store'),
  ];
  const now = performance.now.bind(performance);
  let passedMs = 0;
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + passedMs);
  try {
    confirmSpy.mockImplementationOnce(async (...given) => {
      passedMs = REQUEST_TIMEOUTS_MS.telemetry;
      return Reflect.apply(HeartbeatService.prototype.confirm, service.app.get(HeartbeatService), given);
    });
    expect(await send(EVERY_FIELD)).toEqual({ stored: false, dropped: [] });
    const [, timeLeft] = storeSpy.mock.calls[0]!;
    expect(timeLeft).toBeLessThanOrEqual(0);
    // The block is not inserted later either: the client received `stored: false` and may send it again, and then it would be
    // stored twice.
    expect(await stored()).toEqual([]);
  } finally {
    for (const spy of [clock, confirmSpy, storeSpy]) spy.mockRestore();
  }
});

test('the wait for a slot reduces the time for storing the block as well', async () => {
  const storeSpy = jest.spyOn(service.app.get(TelemetryStore), 'store');
  // The clock only advances by the wait, so that the time left is exact, and no stall of the machine ends the wait.
  const startedAt = performance.now();
  let passedMs = 0;
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => startedAt + passedMs);
  const slots = jest.spyOn(Admission.prototype, 'freeSlots');
  slots.mockReturnValueOnce(0).mockImplementationOnce(() => {
    passedMs = 650;
    return 1;
  });
  try {
    expect(await send(EVERY_FIELD)).toEqual({ stored: true, dropped: [] });
    const [, timeLeft] = storeSpy.mock.calls[0]!;
    expect(timeLeft).toBeCloseTo(REQUEST_TIMEOUTS_MS.telemetry - 650);
  } finally {
    for (const spy of [slots, clock, storeSpy]) spy.mockRestore();
  }
});
