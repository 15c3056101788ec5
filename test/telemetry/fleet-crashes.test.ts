import { afterEach, expect, test } from '@jest/globals';
import { Fleet } from './fleet-harness.js';

const fleet = await Fleet.start();
afterEach(() => fleet.clear());

const SIG = '0123456789abcdef';
const OTHER_SIG = 'fedcba9876543210';
const readGroups = async (query = '') => (await fleet.readCrashGroups(query)).json.crash_groups;

test('a crash group is shown from its first crash on, with its frame, versions and weeks', async () => {
  const crash = { crash_label: 'ValueError', crash_frame: 'app.detector.run:120', crash_sig: SIG };
  await fleet.receive('2026-11-04', 3, { ...crash, crash_app_version: '3.10.0' });
  await fleet.receive('2026-11-11', 1, { ...crash, crash_app_version: '3.9.1' });
  await fleet.receive('2026-11-12', 1, { ...crash, crash_app_version: '3.10.0' });
  await fleet.receive('2026-11-12', 1, { crash_sig: OTHER_SIG });
  await fleet.runRetention('2026-11-16');
  const open = { state: 'open', resolved_in: null, changed_by: null, changed_at: null };
  expect(await readGroups()).toEqual([
    {
      ...open,
      revision: expect.any(String),
      crash_sig: SIG,
      crash_label: 'ValueError',
      crash_frame: 'app.detector.run:120',
      first_version: '3.9.1',
      last_version: '3.10.0',
      weeks: [
        { week_end: '2026-11-15', crashes: 2 },
        { week_end: '2026-11-08', crashes: 3 },
      ],
    },
    {
      ...open,
      revision: expect.any(String),
      crash_sig: OTHER_SIG,
      crash_label: null,
      crash_frame: null,
      first_version: null,
      last_version: null,
      weeks: [{ week_end: '2026-11-15', crashes: 1 }],
    },
  ]);
});

test('the first and the last version are those of all weeks, not only of the requested ones', async () => {
  await fleet.receive('2026-11-04', 1, { crash_sig: SIG, crash_app_version: '3.0.0' });
  await fleet.receive('2026-11-11', 1, { crash_sig: SIG, crash_app_version: '3.1.0' });
  await fleet.runRetention('2026-11-16');
  expect(await readGroups('?weeks=1')).toMatchObject([
    { first_version: '3.0.0', last_version: '3.1.0', weeks: [{ week_end: '2026-11-15', crashes: 1 }] },
  ]);
});

test('versions are ordered by number', async () => {
  for (const version of ['3.9', '10.0', '3.10', '3.2.1', '9.9.9', '3.2']) {
    await fleet.receive('2026-11-11', 1, { crash_sig: SIG, crash_app_version: version });
  }
  await fleet.runRetention('2026-11-16');
  expect(await readGroups()).toMatchObject([{ first_version: '3.2', last_version: '10.0' }]);
});

test('the version is crash_app_version, or app_version if crash_app_version is missing', async () => {
  await fleet.receive('2026-11-11', 1, {
    crash_sig: SIG,
    crash_app_version: '3.1.0+451',
    app_version: '3.2.0',
  });
  await fleet.receive('2026-11-11', 1, { crash_sig: OTHER_SIG, app_version: '3.2.0' });
  await fleet.runRetention('2026-11-16');
  const versions = (await readGroups()).map(
    ({ crash_sig, first_version, last_version }: Record<string, string>) => [
      crash_sig,
      first_version,
      last_version,
    ],
  );
  expect(versions).toEqual([
    [SIG, '3.1.0+451', '3.1.0+451'],
    [OTHER_SIG, '3.2.0', '3.2.0'],
  ]);
});

test('a group has the most frequent label and frame of its crashes', async () => {
  await fleet.receive('2026-11-11', 2, { crash_sig: SIG, crash_label: 'KeyError', crash_frame: 'app.a:1' });
  await fleet.receive('2026-11-11', 5, { crash_sig: SIG, crash_label: 'ValueError', crash_frame: 'app.b:2' });
  await fleet.receive('2026-11-11', 9, { crash_sig: SIG });
  await fleet.runRetention('2026-11-16');
  expect(await readGroups()).toMatchObject([{ crash_label: 'ValueError', crash_frame: 'app.b:2' }]);
});

test('at most 200 groups are shown, the most frequent of the requested weeks first', async () => {
  await fleet.receive('2026-11-04', 9, { crash_sig: SIG });
  await fleet.receive('2026-11-11', 5, { crash_sig: OTHER_SIG });
  await fleet.service.sql(
    `insert into telemetry_inbox (id, received_on, crash_sig)
     select gen_random_uuid(), '2026-11-11', lpad(to_hex(n), 16, '0') from generate_series(1, 250) n`,
  );
  await fleet.runRetention('2026-11-16');
  const sigs = async (query: string) =>
    (await readGroups(query)).map(({ crash_sig }: { crash_sig: string }) => crash_sig);
  const ofTwoWeeks = await sigs('?weeks=2');
  expect([ofTwoWeeks.length, ...ofTwoWeeks.slice(0, 2)]).toEqual([200, SIG, OTHER_SIG]);
  expect((await sigs('?weeks=1')).slice(0, 2)).toEqual([OTHER_SIG, '0'.repeat(15) + '1']);
});

test('a crash group shows and stores no telemetry except its signature, label, frame, versions and counts', async () => {
  const canary = Object.fromEntries(
    [
      'os_version',
      'mac_model',
      'arch',
      'ram_gb_bucket',
      'detector_type',
      'soc_name',
      'detector_compute_units_resolved',
      'unlock_retry_outcome',
      'crash_signal',
      'crash_frame_source',
      'crash_abort_reason',
    ].map((name) => [name, `canary_${name}`]),
  );
  const numbers = {
    cpu_cores: 715_001,
    camera_count: 715_002,
    uptime_hours: 715_003,
    crash_uptime_secs: 715_004,
  };
  await fleet.receive('2026-11-11', 1, { ...canary, ...numbers, crash_sig: SIG, app_version: '3.2.0' });
  await fleet.runRetention('2026-11-16');
  const { text, json } = await fleet.readCrashGroups();
  expect(json.crash_groups).toHaveLength(1);
  expect(text).not.toMatch(/canary|71500/);
  const stored = await fleet.service.sql('select * from crash_week');
  expect(JSON.stringify(stored)).not.toMatch(/canary|71500/);
});

test('the groups are shown even if each week has thousands of groups and the planner expects one', async () => {
  // The statistics of the planner are out of date, because they are from a time with only one group.
  await fleet.receive('2026-11-04', 300, { crash_sig: SIG });
  await fleet.runRetention('2026-11-09');
  await fleet.service.sql(
    'insert into crash_week select crash_week.* from crash_week, generate_series(1, 299)',
  );
  await fleet.service.sql('analyze crash_week, fleet_week');
  await fleet.clear();
  await fleet.service.sql(
    `insert into fleet_week select '2026-11-15'::date - 7 * n from generate_series(0, 11) n`,
  );
  await fleet.service.sql(
    `insert into crash_week (week_end, crash_sig, crashes)
     select week_end, lpad(to_hex(n), 16, '0'), 1 from fleet_week, generate_series(1, 3000) n`,
  );
  const { status, json } = await fleet.readCrashGroups();
  expect([status, json.crash_groups.length, json.crash_groups[0].weeks.length]).toEqual([200, 200, 12]);
});
