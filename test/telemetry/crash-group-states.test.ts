import { afterEach, describe, expect, test } from '@jest/globals';
import { StaffService } from '../../src/staff/staff.service.js';
import { lastAuditEvent } from '../support-api/harness.js';
import { Fleet } from './fleet-harness.js';
import { AUDIT_CONTEXT } from '../support/harness.js';

const fleet = await Fleet.start();
afterEach(() => fleet.clear());

const SIG = '0123456789abcdef';
const OTHER_SIG = 'fedcba9876543210';
const GRACE = 'grace@example.com';

/** Stores one crash of the group in each version on the day before this Monday, and counts its week. */
async function crash(nextMonday: string, versions: readonly string[], sig = SIG) {
  const day = new Date(Date.parse(nextMonday) - 86_400_000).toISOString().slice(0, 10);
  for (const version of versions) await fleet.receive(day, 1, { crash_sig: sig, crash_app_version: version });
  await fleet.runRetention(nextMonday);
}
const list = async (query = '') =>
  (await fleet.readCrashGroups(query)).json.crash_groups as Record<string, unknown>[];
const sigs = async (query = '') => (await list(query)).map(({ crash_sig }) => crash_sig);
const resolve = (resolved_in: string, headers?: Record<string, string>) =>
  fleet.changeCrashGroup(SIG, { state: 'resolved', resolved_in }, headers);
const storedStates = () => fleet.service.sql('select crash_sig, last_week_end::text from crash_group_state');

test('a group is open until staff resolve or mute it; each list has the groups of one state', async () => {
  await crash('2026-11-16', ['3.1.0']);
  await fleet.service.sql(
    `insert into crash_week (week_end, crash_sig, crashes) values ('2026-11-15', $1, 1)`,
    [OTHER_SIG],
  );
  expect(await sigs()).toEqual([SIG, OTHER_SIG]);
  const { status, json } = await resolve('3.2.0');
  expect([status, json]).toEqual([
    200,
    {
      crash_group: {
        crash_sig: SIG,
        state: 'resolved',
        resolved_in: '3.2.0',
        changed_by: GRACE,
        changed_at: '2026-11-20T13:00:00Z',
        revision: expect.any(String),
      },
    },
  ]);
  expect((await fleet.changeCrashGroup(OTHER_SIG, { state: 'muted' })).json.crash_group).toMatchObject({
    state: 'muted',
    resolved_in: null,
    changed_by: GRACE,
  });
  expect([await sigs(), await sigs('?state=open')]).toEqual([[], []]);
  expect(await list('?state=resolved')).toMatchObject([json.crash_group]);
  expect(await list('?state=muted')).toMatchObject([
    { crash_sig: OTHER_SIG, state: 'muted', changed_by: GRACE },
  ]);
});

test('muted groups do not take the places of open ones, of which 200 are shown', async () => {
  await crash('2026-11-16', ['3.1.0', '3.1.1', '3.1.2']);
  await fleet.service.sql(
    `insert into crash_week (week_end, crash_sig, crashes)
     select '2026-11-15', lpad(to_hex(n), 16, '0'), 2 from generate_series(1, 200) n`,
  );
  expect(await sigs()).toHaveLength(200);
  expect((await sigs())[0]).toBe(SIG);
  await fleet.changeCrashGroup(SIG, { state: 'muted' });
  const open = await sigs();
  expect([open.length, open.includes(SIG)]).toEqual([200, false]);
});

test.each(['3.2.0', '3.1.9', '3.2'])(
  'a group that crashed in 3.2.0 cannot be resolved in %s',
  async (version) => {
    await crash('2026-11-16', ['3.0.0', '3.2.0']);
    const { status, json } = await resolve(version);
    expect([status, json.errors]).toEqual([
      422,
      [
        {
          pointer: '/resolved_in',
          detail: 'must be newer than the last version in which the group crashed',
        },
      ],
    ]);
    expect(await storedStates()).toEqual([]);
  },
);

describe('a resolved group', () => {
  test.each([
    ['in that version', '3.2.0'],
    ['in a build of that version', '3.2.0+451'],
    ['in a later version', '3.10'],
  ])('is open again once it crashes %s', async (_what, version) => {
    await crash('2026-11-09', ['3.1.0']);
    await resolve('3.2.0');
    await crash('2026-11-16', [version]);
    expect(await sigs('?state=resolved')).toEqual([]);
    expect(await list()).toMatchObject([
      { crash_sig: SIG, state: 'open', resolved_in: '3.2.0', changed_by: GRACE, last_version: version },
    ]);
    // The state does not depend on the requested weeks.
    await crash('2026-11-23', ['3.1.0']);
    expect([await sigs('?weeks=1'), await sigs('?weeks=1&state=resolved')]).toEqual([[SIG], []]);
  });

  test.each([
    ['in an older version', { crash_app_version: '3.1.9' }],
    ['in a pre-release of that version', { crash_app_version: '3.2.0-rc.1' }],
    ['in an unknown version', {}],
  ])('stays resolved if it crashes %s', async (_what, values) => {
    await crash('2026-11-09', ['3.1.0']);
    await resolve('3.2.0');
    await fleet.receive('2026-11-11', 1, { crash_sig: SIG, ...values });
    await fleet.runRetention('2026-11-16');
    expect([await sigs(), await sigs('?state=resolved')]).toEqual([[], [SIG]]);
  });

  test('that was reopened can be resolved again in a newer version, and muted', async () => {
    await crash('2026-11-09', ['3.1.0']);
    await resolve('3.2.0');
    await crash('2026-11-16', ['3.2.0']);
    expect((await resolve('3.2.1')).status).toBe(200);
    expect(await sigs('?state=resolved')).toEqual([SIG]);
    await fleet.changeCrashGroup(SIG, { state: 'muted' });
    await crash('2026-11-23', ['4.0.0']);
    expect(await list('?state=muted')).toMatchObject([{ crash_sig: SIG, resolved_in: null }]);
  });
});

describe('a change', () => {
  test('with a revision that another change has replaced is refused, and the state of the group stays', async () => {
    await crash('2026-11-16', ['3.1.0']);
    const [{ revision }] = (await list()) as [{ revision: string }];
    const headers = { 'if-match': `"${revision}"` };
    expect((await resolve('3.2.0', headers)).status).toBe(200);
    const refused = await fleet.changeCrashGroup(SIG, { state: 'muted' }, headers);
    expect([refused.status, refused.json.code]).toEqual([412, 'crash_group_changed']);
    expect(await sigs('?state=resolved')).toEqual([SIG]);
    expect((await fleet.changeCrashGroup(SIG, { state: 'muted' }, { 'if-match': '*' })).status).toBe(200);
    // A revision is a hash of the state, so a group that was opened again has the one of a group without a state.
    await fleet.changeCrashGroup(SIG, { state: 'open' });
    expect(await list()).toMatchObject([{ revision, resolved_in: null, changed_by: null }]);
    expect(await storedStates()).toEqual([]);
  });

  test('may name several revisions, and a weak entity tag never matches', async () => {
    await crash('2026-11-16', ['3.1.0']);
    const [{ revision }] = (await list()) as [{ revision: string }];
    for (const tags of ['"other"', `W/"${revision}"`, `"other", W/"${revision}"`])
      expect((await resolve('3.2.0', { 'if-match': tags })).status).toBe(412);
    expect((await resolve('3.2.0', { 'if-match': `W/"other", "other" , "${revision}"` })).status).toBe(200);
  });

  test('that is concurrent with another one of the same revision: exactly one of the two succeeds', async () => {
    await crash('2026-11-16', ['3.1.0']);
    const [{ revision }] = (await list()) as [{ revision: string }];
    const headers = { 'if-match': `"${revision}"` };
    const answers = await Promise.all([
      resolve('3.2.0', headers),
      fleet.changeCrashGroup(SIG, { state: 'muted' }, headers),
    ]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 412]);
  });

  test('is recorded in the audit trail with its reason and the state before it', async () => {
    await crash('2026-11-16', ['3.1.0']);
    await resolve('3.2.0');
    expect(await lastAuditEvent(fleet.service)).toEqual({
      actor: GRACE,
      action: 'crash_group.set',
      license_id: null,
      reason: 'Looked at it.',
      change: {
        crash_sig: SIG,
        state: 'resolved',
        resolved_in: '3.2.0',
        before: { state: 'open', resolved_in: null },
      },
    });
    await fleet.changeCrashGroup(SIG, { state: 'open', reason: 'It is back.' });
    expect(await lastAuditEvent(fleet.service)).toMatchObject({
      reason: 'It is back.',
      change: { crash_sig: SIG, state: 'open', before: { state: 'resolved', resolved_in: '3.2.0' } },
    });
  });

  test.each([
    [{ state: 'closed' }, '/state'],
    [{ state: 'resolved' }, '/resolved_in'],
    [{ state: 'resolved', resolved_in: 'the next one' }, '/resolved_in'],
    [{ state: 'muted', reason: ' ' }, '/reason'],
    [{ state: 'muted', reason: 'Asked by ada@example.com' }, '/reason'],
  ])('to %j is refused and changes nothing', async (change, pointer) => {
    await crash('2026-11-16', ['3.1.0']);
    const { status, json } = await fleet.changeCrashGroup(SIG, change);
    expect([status, json.errors.map((error: { pointer: string }) => error.pointer)]).toEqual([
      422,
      [pointer],
    ]);
    expect(await storedStates()).toEqual([]);
  });

  test.each(['ffffffffffffffff', 'ABCDEF0123456789', 'x', '%00'])(
    'of the group %s, which has no counts, is refused with 404',
    async (sig) => {
      await crash('2026-11-16', ['3.1.0']);
      const { status, json } = await fleet.changeCrashGroup(sig, { state: 'muted' });
      expect([status, json.code]).toEqual([404, 'not_found']);
    },
  );
});

test.each(['closed', '', 'open&state=muted'])(
  'the list of groups is refused with 422 for state=%s',
  async (state) => {
    const { status, json } = await fleet.readCrashGroups(`?state=${state}`);
    expect([status, json.errors]).toEqual([
      422,
      [{ pointer: '/state', detail: 'must be one of open, resolved, muted' }],
    ]);
  },
);

test('the state stays without a name when the staff member is removed', async () => {
  const staff = fleet.service.app.get(StaffService);
  const { staff_id } = await staff.add('linus@example.com', 'support', AUDIT_CONTEXT);
  await crash('2026-11-16', ['3.1.0']);
  await resolve('3.2.0');
  await fleet.service.sql('update crash_group_state set changed_by = $1', [staff_id]);
  expect(await list('?state=resolved')).toMatchObject([{ changed_by: 'linus@example.com' }]);
  await staff.remove(staff_id, AUDIT_CONTEXT);
  expect(await list('?state=resolved')).toMatchObject([{ resolved_in: '3.2.0', changed_by: null }]);
});

// This test is the last one, because its retention run of 2028 deletes the expired staff token of the harness.
test('the state is deleted exactly with the last week in which the group crashed', async () => {
  await crash('2026-11-09', ['3.1.0']);
  await resolve('3.2.0');
  expect(await storedStates()).toEqual([{ crash_sig: SIG, last_week_end: '2026-11-08' }]);
  await crash('2026-11-16', ['3.1.0']);
  expect(await storedStates()).toEqual([{ crash_sig: SIG, last_week_end: '2026-11-15' }]);
  await crash('2026-11-23', ['3.1.0'], OTHER_SIG);
  await fleet.runRetention('2028-11-14');
  expect(await storedStates()).toEqual([{ crash_sig: SIG, last_week_end: '2026-11-15' }]);
  await fleet.runRetention('2028-11-15');
  expect(await storedStates()).toEqual([]);
  expect(await fleet.service.sql('select crash_sig from crash_week')).toEqual([{ crash_sig: OTHER_SIG }]);
});
