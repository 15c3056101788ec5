import { afterEach, describe, expect, test } from '@jest/globals';
import { Fleet } from './fleet-harness.js';

/** The Monday and the Sunday of a week, and the next Monday, from which on the week is shown. */
const [MONDAY, SUNDAY, NEXT_MONDAY] = ['2026-11-09', '2026-11-15', '2026-11-16'] as const;
const EMPTY_TABLES = {
  app_version: [],
  os_version: [],
  hardware: [],
  ram_gb_bucket: [],
  detector_compute: [],
  latency: [],
};

const fleet = await Fleet.start();
afterEach(() => fleet.clear());

/** The tables of the newest week. */
const lastWeek = async () => (await fleet.readCounts()).json.weeks[0];
const weekEnds = async (query = '') => {
  const { weeks } = (await fleet.readCounts(query)).json as { weeks: { week_end: string }[] };
  return weeks.map(({ week_end }) => week_end);
};

test.each<[string, Record<string, string>]>([
  ['no token', {}],
  ['an unknown token', { authorization: `Bearer mst_${'A'.repeat(43)}` }],
])('a caller with %s is refused with 401', async (_what, headers) => {
  const { status, json } = await fleet.service.call('GET', '/support/api/fleet', undefined, headers);
  expect([status, json.code]).toEqual([401, 'sign_in_required']);
  expect(json).not.toHaveProperty('weeks');
});

test.each(['0', '106', '1000', '-1', '%2B1', '1.5', '1e1', '0x10', '', 'all', '12&weeks=12', '12%20'])(
  'weeks=%s is refused with 422, because it is not a whole number from 1 to 105',
  async (weeks) => {
    const { status, json } = await fleet.readCounts(`?weeks=${weeks}`);
    expect([status, json.code]).toEqual([422, 'invalid_request']);
    expect(json.errors).toEqual([{ pointer: '/weeks', detail: 'must be a whole number from 1 to 105' }]);
  },
);

test('without any telemetry the lists are empty', async () => {
  await fleet.runRetention(NEXT_MONDAY);
  for (const query of ['', '?weeks=1', '?weeks=105']) {
    expect((await fleet.readCounts(query)).json).toEqual({ threshold: 280, weeks: [], publications: [] });
  }
});

test('a retention run counts complete weeks from Monday to Sunday (UTC)', async () => {
  await fleet.receive('2026-11-08', 281, { os_version: 'the Sunday before' });
  await fleet.receive(MONDAY, 282, { os_version: 'Monday' });
  await fleet.receive(SUNDAY, 283, { os_version: 'Sunday' });
  expect((await fleet.runRetention(SUNDAY)).weeks_counted).toBe(1);
  expect(await weekEnds()).toEqual(['2026-11-08']);
  await fleet.receive(NEXT_MONDAY, 284, { os_version: 'the Monday after' });
  expect((await fleet.runRetention(NEXT_MONDAY)).weeks_counted).toBe(1);
  expect(await weekEnds()).toEqual([SUNDAY, '2026-11-08']);
  expect((await lastWeek()).os_version).toEqual([
    { value: 'Sunday', heartbeats: 283 },
    { value: 'Monday', heartbeats: 282 },
  ]);
});

test('the response shows the newest week first, by default twelve weeks, and also weeks without heartbeats', async () => {
  await fleet.receive('2026-08-03', 280, { os_version: 'macOS 26.1' });
  await fleet.receive(SUNDAY, 280, { os_version: 'macOS 26.1' });
  expect((await fleet.runRetention(NEXT_MONDAY)).weeks_counted).toBe(15);
  const allWeeks = await weekEnds('?weeks=105');
  expect([allWeeks.length, allWeeks[0], allWeeks.at(-1)]).toEqual([15, SUNDAY, '2026-08-09']);
  expect(allWeeks).toEqual(allWeeks.toSorted().toReversed());
  expect(await weekEnds()).toEqual(allWeeks.slice(0, 12));
  expect(await weekEnds('?weeks=1')).toEqual([SUNDAY]);
  expect((await fleet.readCounts('?weeks=2')).json.weeks[1]).toEqual({
    week_end: '2026-11-08',
    ...EMPTY_TABLES,
  });
});

test('a missing field is counted as null, and the value `other` like any other value', async () => {
  await fleet.receive(MONDAY, 300);
  await fleet.receive(MONDAY, 290, { ram_gb_bucket: 'other' });
  await fleet.receive(MONDAY, 400, { ram_gb_bucket: 'null' });
  for (let ram = 0; ram < 29; ram += 1) await fleet.receive(MONDAY, 10, { ram_gb_bucket: `${ram}` });
  await fleet.runRetention(NEXT_MONDAY);
  expect((await lastWeek()).ram_gb_bucket).toEqual([
    { value: 'null', heartbeats: 400 },
    { value: null, heartbeats: 300 },
    { value: 'other', heartbeats: 290 },
    { other: true, heartbeats: 290 },
  ]);
});

test('of many values that one client invents, the 200 most frequent of a table are shown', async () => {
  await fleet.receive(MONDAY, 300, { os_version: 'macOS 26.1' });
  await fleet.service.sql(
    `insert into telemetry_inbox (id, received_on, os_version)
     select gen_random_uuid(), '${MONDAY}'::date, 'invented ' || value
     from generate_series(1, 210) value, generate_series(1, 280)`,
  );
  await fleet.runRetention(NEXT_MONDAY);
  const { os_version } = await lastWeek();
  expect(os_version).toHaveLength(201);
  expect(os_version[0]).toEqual({ value: 'macOS 26.1', heartbeats: 300 });
  expect(os_version.at(-1)).toEqual({ other: true, heartbeats: 11 * 280 });
});

test('a count of more heartbeats than a signed 32-bit integer can hold is shown', async () => {
  const heartbeats = 3_000_000_000;
  await fleet.service.sql('insert into fleet_week values ($1)', [SUNDAY]);
  await fleet.service.sql(
    `insert into fleet_cell (week_end, dimension, value, is_other, heartbeats) values ($1, 'os_version', 'macOS 26.1', false, $2)`,
    [SUNDAY, heartbeats],
  );
  expect((await lastWeek()).os_version).toEqual([{ value: 'macOS 26.1', heartbeats }]);
});

test('a week has counts of single fields, of Mac models with their chips, and of compute units as configured and as resolved', async () => {
  const fields = { app_version: '3.2.0', os_version: 'macOS 26.1', ram_gb_bucket: '32' };
  const hardware = { mac_model: 'Mac16,8', soc_name: 'Apple M4 Pro' };
  const [ane, gpu] = ['cpu_and_ne', 'cpu_and_gpu'];
  const heartbeat = (detector_compute: string, detector_compute_units_resolved: string | null) => ({
    ...fields,
    ...hardware,
    detector_compute,
    detector_compute_units_resolved,
  });
  await fleet.receive(MONDAY, 900, heartbeat('ane', ane!));
  await fleet.receive(MONDAY, 500, heartbeat('ane', gpu!));
  await fleet.receive(MONDAY, 300, heartbeat('gpu', gpu!));
  await fleet.receive(MONDAY, 280, heartbeat('gpu', null));
  await fleet.receive(SUNDAY, 20, {
    ...heartbeat('gpu', ane!),
    arch: 'arm64',
    cpu_cores: 14,
    camera_count: 4,
  });
  await fleet.runRetention(NEXT_MONDAY);
  const singleFields = Object.entries(fields).map(([name, value]) => [name, [{ value, heartbeats: 2_000 }]]);
  expect(await lastWeek()).toEqual({
    week_end: SUNDAY,
    ...Object.fromEntries(singleFields),
    hardware: [{ ...hardware, heartbeats: 2_000 }],
    detector_compute: [
      { detector_compute: 'ane', detector_compute_units_resolved: ane, heartbeats: 900 },
      { detector_compute: 'ane', detector_compute_units_resolved: gpu, heartbeats: 500 },
      { detector_compute: 'gpu', detector_compute_units_resolved: gpu, heartbeats: 300 },
      { other: true, heartbeats: 300 },
    ],
    latency: [],
  });
});

test('the latency is shown for chips with 280 measurements that are shown in the hardware table', async () => {
  await fleet.service.sql(
    `insert into telemetry_inbox (id, received_on, soc_name, recent_inference_ms)
     select gen_random_uuid(), '${MONDAY}'::date, 'Apple M1', n from generate_series(1, 1000) n
     union all select gen_random_uuid(), '${MONDAY}'::date, 'Apple M2', 7 from generate_series(1, 280)
     union all select gen_random_uuid(), '${MONDAY}'::date, 'Apple M3', nullif(n, 1) from generate_series(1, 280) n
     union all select gen_random_uuid(), '${MONDAY}'::date, 'Apple M4', 9 from generate_series(1, 279)
     union all select gen_random_uuid(), '${MONDAY}'::date, 'Apple M5', 9 from generate_series(1, 1)
     union all select gen_random_uuid(), '${MONDAY}'::date, null, 9 from generate_series(1, 300)`,
  );
  await fleet.runRetention(NEXT_MONDAY);
  const { hardware, latency } = await lastWeek();
  expect(hardware).toEqual([
    { mac_model: null, soc_name: 'Apple M1', heartbeats: 1_000 },
    { mac_model: null, soc_name: null, heartbeats: 300 },
    { mac_model: null, soc_name: 'Apple M2', heartbeats: 280 },
    { mac_model: null, soc_name: 'Apple M3', heartbeats: 280 },
    { other: true, heartbeats: 280 },
  ]);
  expect(latency).toEqual([
    { soc_name: 'Apple M1', p50: 500, p90: 900, p95: 950 },
    { soc_name: 'Apple M2', p50: 7, p90: 7, p95: 7 },
  ]);
});

test('no latency is shown for a chip that is counted as other, although it has enough heartbeats', async () => {
  await fleet.receive(MONDAY, 400, { soc_name: 'Apple M1', recent_inference_ms: 5 });
  await fleet.receive(MONDAY, 300, { soc_name: 'Apple M2', recent_inference_ms: 6 });
  await fleet.receive(MONDAY, 1, { soc_name: 'Apple M3', recent_inference_ms: 7 });
  await fleet.runRetention(NEXT_MONDAY);
  const { hardware, latency } = await lastWeek();
  expect(hardware).toEqual([
    { mac_model: null, soc_name: 'Apple M1', heartbeats: 400 },
    { other: true, heartbeats: 301 },
  ]);
  expect(latency).toEqual([{ soc_name: 'Apple M1', p50: 5, p90: 5, p95: 5 }]);
});

test('a week is counted once: late telemetry changes no count, so that two responses cannot be subtracted', async () => {
  await fleet.receive(MONDAY, 300, { mac_model: 'Mac16,8', soc_name: 'Apple M4', crash_sig: 'a'.repeat(16) });
  await fleet.runRetention(NEXT_MONDAY);
  const before = (await fleet.readCounts()).json;
  await fleet.receive(SUNDAY, 300, { mac_model: 'Mac16,8', soc_name: 'Apple M4', crash_sig: 'b'.repeat(16) });
  const { telemetry_rows_moved, weeks_counted } = await fleet.runRetention(NEXT_MONDAY);
  expect([telemetry_rows_moved, weeks_counted]).toEqual([300, 0]);
  expect((await fleet.readCounts()).json).toEqual(before);
});

test('a week is counted only when none of its rows is in the inbox; weeks before it are counted', async () => {
  await fleet.receive('2026-11-02', 280, { mac_model: 'Mac16,8' });
  expect((await fleet.runRetention('2026-11-08')).weeks_counted).toBe(0);
  await fleet.receive(SUNDAY, 280, { soc_name: 'Apple M4' });
  await fleet.service.sql('alter table telemetry add constraint broken check (soc_name is null)');
  const { failed, weeks_counted } = await fleet.runRetention('2026-11-23');
  expect([failed.map(({ table }) => table), weeks_counted]).toEqual([['telemetry_inbox'], 1]);
  expect(await weekEnds()).toEqual(['2026-11-08']);
  await fleet.service.sql('alter table telemetry drop constraint broken');
  expect((await fleet.runRetention('2026-11-23')).weeks_counted).toBe(2);
  expect(await weekEnds()).toEqual(['2026-11-22', SUNDAY, '2026-11-08']);
  expect((await fleet.readCounts('?weeks=2')).json.weeks[1].hardware).toEqual([
    { mac_model: null, soc_name: 'Apple M4', heartbeats: 280 },
  ]);
});

test('a week that has not ended is not counted, although the inbox has a row of a later day', async () => {
  await fleet.receive(MONDAY, 280);
  await fleet.receive('2026-12-14', 1);
  expect((await fleet.runRetention(NEXT_MONDAY)).weeks_counted).toBe(1);
  expect((await fleet.runRetention('2026-11-17')).weeks_counted).toBe(0);
});

describe('after a clock that was ahead', () => {
  test('the empty weeks that it counted are counted again when they have ended', async () => {
    await fleet.receive(MONDAY, 280, { os_version: 'macOS 26.1' });
    expect((await fleet.runRetention('2027-01-04')).weeks_counted).toBe(8);
    await fleet.runRetention('2026-11-17');
    expect(await weekEnds()).toEqual([SUNDAY]);
    await fleet.receive('2026-11-22', 281, { os_version: 'macOS 26.2' });
    expect((await fleet.runRetention('2026-11-23')).weeks_counted).toBe(1);
    expect((await lastWeek()).os_version).toEqual([{ value: 'macOS 26.2', heartbeats: 281 }]);
  });

  test('a week that it counted with telemetry of its own time is kept, and the weeks before it are counted', async () => {
    await fleet.receive('2026-12-28', 280, { os_version: 'macOS 26.3' });
    await fleet.runRetention('2027-01-04');
    await fleet.receive(MONDAY, 281, { os_version: 'macOS 26.1' });
    expect((await fleet.runRetention(NEXT_MONDAY)).weeks_counted).toBe(1);
    expect(await weekEnds()).toEqual(['2027-01-03', SUNDAY]);
    expect((await fleet.runRetention('2027-01-11')).weeks_counted).toBe(1);
  });
});

test('the counts of a week are deleted exactly 24 months after its end', async () => {
  const values = { crash_sig: 'a'.repeat(16), soc_name: 'Apple M4', recent_inference_ms: 3 };
  const storedCounts = () =>
    fleet.service.sql(
      `select (select count(*)::int from fleet_cell c where c.week_end = w.week_end) as cells,
              (select count(*)::int from fleet_latency l where l.week_end = w.week_end) as latency,
              (select count(*)::int from crash_week k where k.week_end = w.week_end) as crashes
       from fleet_week w where week_end = '${SUNDAY}'`,
    );
  await fleet.receive(MONDAY, 280, values);
  await fleet.runRetention(NEXT_MONDAY);
  await fleet.runRetention('2028-11-14');
  // Each of the five tables of counts has one cell.
  expect(await storedCounts()).toEqual([{ cells: 5, latency: 1, crashes: 1 }]);
  await fleet.runRetention('2028-11-15');
  expect(await storedCounts()).toEqual([]);
  for (const table of ['fleet_cell', 'fleet_latency', 'crash_week']) {
    expect(await fleet.service.sql(`select * from ${table}`)).toEqual([]);
  }
});
