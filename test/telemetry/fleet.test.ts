import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { Fleet } from './fleet-harness.js';

/** A week, of which 2026-11-09 is the Monday and 2026-11-15 the Sunday, is shown from Monday 2026-11-16 on. */
const [MONDAY, SUNDAY, NEXT_MONDAY] = ['2026-11-09', '2026-11-15', '2026-11-16'] as const;
const NOTHING = {
  app_version: [],
  os_version: [],
  hardware: [],
  ram_gb_bucket: [],
  detector_compute: [],
  latency: [],
};

let fleet: Fleet;
beforeAll(async () => {
  fleet = await Fleet.start();
});
afterEach(() => fleet.forget());
afterAll(() => fleet.service.close());

/** What is shown of the week that ended last. */
const lastWeek = async () => (await fleet.ask()).json.weeks[0];
const weekEnds = async (query = '') => {
  const { weeks } = (await fleet.ask(query)).json as { weeks: { week_end: string }[] };
  return weeks.map(({ week_end }) => week_end);
};

test.each<[string, Record<string, string>]>([
  ['no token', {}],
  ['an unknown token', { authorization: `Bearer mst_${'A'.repeat(43)}` }],
])('shows nothing to a caller with %s', async (_what, headers) => {
  const { status, json } = await fleet.service.call('GET', '/support/api/fleet', undefined, headers);
  expect([status, json.code]).toEqual([401, 'sign_in_required']);
  expect(json).not.toHaveProperty('weeks');
});

test.each(['0', '106', '1000', '-1', '%2B1', '1.5', '1e1', '0x10', '', 'all', '12&weeks=12', '12%20'])(
  '422 for weeks=%s: from 1 to 105, and nothing else',
  async (weeks) => {
    const { status, json } = await fleet.ask(`?weeks=${weeks}`);
    expect([status, json.code]).toEqual([422, 'invalid_request']);
    expect(json.errors).toEqual([{ pointer: '/weeks', detail: 'must be a whole number from 1 to 105' }]);
  },
);

test('of a fleet that never sent anything there is nothing to tell, and that is no error', async () => {
  await fleet.night(NEXT_MONDAY);
  for (const query of ['', '?weeks=1', '?weeks=105']) {
    expect((await fleet.ask(query)).json).toEqual({ threshold: 280, weeks: [], crash_groups: [] });
  }
});

test('counts whole weeks, from Monday to Sunday (UTC), and none that is not over', async () => {
  await fleet.receive('2026-11-08', 281, { os_version: 'the Sunday before' });
  await fleet.receive(MONDAY, 282, { os_version: 'Monday' });
  await fleet.receive(SUNDAY, 283, { os_version: 'Sunday' });
  expect((await fleet.night(SUNDAY)).weeks_counted).toBe(1);
  expect(await weekEnds()).toEqual(['2026-11-08']);
  await fleet.receive(NEXT_MONDAY, 284, { os_version: 'the Monday after' });
  expect((await fleet.night(NEXT_MONDAY)).weeks_counted).toBe(1);
  expect(await weekEnds()).toEqual([SUNDAY, '2026-11-08']);
  expect((await lastWeek()).os_version).toEqual([
    { value: 'Sunday', heartbeats: 283 },
    { value: 'Monday', heartbeats: 282 },
  ]);
});

test('shows the newest week first, twelve where no number is given, and a week without heartbeats too', async () => {
  await fleet.receive('2026-08-03', 280, { os_version: 'macOS 26.1' });
  await fleet.receive(SUNDAY, 280, { os_version: 'macOS 26.1' });
  expect((await fleet.night(NEXT_MONDAY)).weeks_counted).toBe(15);
  const all = await weekEnds('?weeks=105');
  expect([all.length, all[0], all.at(-1)]).toEqual([15, SUNDAY, '2026-08-09']);
  expect(all).toEqual(all.toSorted().toReversed());
  expect(await weekEnds()).toEqual(all.slice(0, 12));
  expect(await weekEnds('?weeks=1')).toEqual([SUNDAY]);
  expect((await fleet.ask('?weeks=2')).json.weeks[1]).toEqual({ week_end: '2026-11-08', ...NOTHING });
});

test('what a heartbeat did not say is the value null, and a value called other is a value', async () => {
  await fleet.receive(MONDAY, 300);
  await fleet.receive(MONDAY, 290, { ram_gb_bucket: 'other' });
  await fleet.receive(MONDAY, 400, { ram_gb_bucket: 'null' });
  for (let model = 0; model < 29; model += 1) await fleet.receive(MONDAY, 10, { ram_gb_bucket: `${model}` });
  await fleet.night(NEXT_MONDAY);
  expect((await lastWeek()).ram_gb_bucket).toEqual([
    { value: 'null', heartbeats: 400 },
    { value: null, heartbeats: 300 },
    { value: 'other', heartbeats: 290 },
    { other: true, heartbeats: 290 },
  ]);
});

test('counts what is listed: members by themselves, a Mac beside its chip, and the detector as configured beside what it got', async () => {
  const fields = { app_version: '3.2.0', os_version: 'macOS 26.1', ram_gb_bucket: '32' };
  const hardware = { mac_model: 'Mac16,8', soc_name: 'Apple M4 Pro' };
  const [ane, gpu] = ['cpu_and_ne', 'cpu_and_gpu'];
  const got = (detector_compute: string, detector_compute_units_resolved: string | null) => ({
    ...fields,
    ...hardware,
    detector_compute,
    detector_compute_units_resolved,
  });
  await fleet.receive(MONDAY, 900, got('ane', ane!));
  await fleet.receive(MONDAY, 500, got('ane', gpu!));
  await fleet.receive(MONDAY, 300, got('gpu', gpu!));
  await fleet.receive(MONDAY, 280, got('gpu', null));
  await fleet.receive(SUNDAY, 20, { ...got('gpu', ane!), arch: 'arm64', cpu_cores: 14, camera_count: 4 });
  await fleet.night(NEXT_MONDAY);
  const alone = Object.entries(fields).map(([name, value]) => [name, [{ value, heartbeats: 2_000 }]]);
  expect(await lastWeek()).toEqual({
    week_end: SUNDAY,
    ...Object.fromEntries(alone),
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

test('shows of each chip how long the detector took, where 280 sent it, and of none that is not shown', async () => {
  await fleet.service.sql(
    `insert into telemetry_inbox (id, received_on, soc_name, recent_inference_ms)
     select gen_random_uuid(), '${MONDAY}'::date, 'Apple M1', n from generate_series(1, 1000) n
     union all select gen_random_uuid(), '${MONDAY}'::date, 'Apple M2', 7 from generate_series(1, 280)
     union all select gen_random_uuid(), '${MONDAY}'::date, 'Apple M3', nullif(n, 1) from generate_series(1, 280) n
     union all select gen_random_uuid(), '${MONDAY}'::date, 'Apple M4', 9 from generate_series(1, 279)
     union all select gen_random_uuid(), '${MONDAY}'::date, 'Apple M5', 9 from generate_series(1, 1)
     union all select gen_random_uuid(), '${MONDAY}'::date, null, 9 from generate_series(1, 300)`,
  );
  await fleet.night(NEXT_MONDAY);
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

test('tells nothing of how long a chip took that has enough heartbeats and still had to join the rest', async () => {
  await fleet.receive(MONDAY, 400, { soc_name: 'Apple M1', recent_inference_ms: 5 });
  await fleet.receive(MONDAY, 300, { soc_name: 'Apple M2', recent_inference_ms: 6 });
  await fleet.receive(MONDAY, 1, { soc_name: 'Apple M3', recent_inference_ms: 7 });
  await fleet.night(NEXT_MONDAY);
  const { hardware, latency } = await lastWeek();
  expect(hardware).toEqual([
    { mac_model: null, soc_name: 'Apple M1', heartbeats: 400 },
    { other: true, heartbeats: 301 },
  ]);
  expect(latency).toEqual([{ soc_name: 'Apple M1', p50: 5, p90: 5, p95: 5 }]);
});

test('counts a week once: what comes late changes nothing, or two answers could be subtracted', async () => {
  await fleet.receive(MONDAY, 300, { mac_model: 'Mac16,8', soc_name: 'Apple M4', crash_sig: 'a'.repeat(16) });
  await fleet.night(NEXT_MONDAY);
  const before = (await fleet.ask()).json;
  await fleet.receive(SUNDAY, 300, { mac_model: 'Mac16,8', soc_name: 'Apple M4', crash_sig: 'b'.repeat(16) });
  const { telemetry_rows_moved, weeks_counted } = await fleet.night(NEXT_MONDAY);
  expect([telemetry_rows_moved, weeks_counted]).toEqual([300, 0]);
  expect((await fleet.ask()).json).toEqual(before);
});

test('waits with a week as long as rows of it are in the inbox, and with no week before', async () => {
  await fleet.receive('2026-11-02', 280, { mac_model: 'Mac16,8' });
  expect((await fleet.night('2026-11-08')).weeks_counted).toBe(0);
  await fleet.receive(SUNDAY, 280, { soc_name: 'Apple M4' });
  await fleet.service.sql('alter table telemetry add constraint broken check (soc_name is null)');
  const { failed, weeks_counted } = await fleet.night('2026-11-23');
  expect([failed.map(({ table }) => table), weeks_counted]).toEqual([['telemetry_inbox'], 1]);
  expect(await weekEnds()).toEqual(['2026-11-08']);
  await fleet.service.sql('alter table telemetry drop constraint broken');
  expect((await fleet.night('2026-11-23')).weeks_counted).toBe(2);
  expect(await weekEnds()).toEqual(['2026-11-22', SUNDAY, '2026-11-08']);
  expect((await fleet.ask('?weeks=2')).json.weeks[1].hardware).toEqual([
    { mac_model: null, soc_name: 'Apple M4', heartbeats: 280 },
  ]);
});

test("leaves after 24 months, to the day, from the week's end", async () => {
  const says = { crash_sig: 'a'.repeat(16), soc_name: 'Apple M4', recent_inference_ms: 3 };
  const left = () =>
    fleet.service.sql(
      `select (select count(*)::int from fleet_cell c where c.week_end = w.week_end) as cells,
              (select count(*)::int from fleet_latency l where l.week_end = w.week_end) as latency,
              (select count(*)::int from crash_week k where k.week_end = w.week_end) as crashes
       from fleet_week w where week_end = '${SUNDAY}'`,
    );
  await fleet.receive(MONDAY, 280, says);
  await fleet.night(NEXT_MONDAY);
  await fleet.night('2028-11-14');
  expect(await left()).toEqual([{ cells: 5, latency: 1, crashes: 1 }]);
  await fleet.night('2028-11-15');
  expect(await left()).toEqual([]);
  for (const table of ['fleet_cell', 'fleet_latency', 'crash_week']) {
    expect(await fleet.service.sql(`select * from ${table}`)).toEqual([]);
  }
});
