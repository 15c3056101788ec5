import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { DataSource, type QueryRunner } from 'typeorm';
import { deleteExpired } from '../../src/retention/deletion.js';
import { createRetentionPolicy } from '../../src/retention/policy.js';
import { NOW, Service } from '../support/harness.js';
import { RetentionHarness } from './harness.js';
import { OpenTransaction } from '../support/open-transaction.js';

/* When the activations of an ended license end, and when the license is deleted (docs/decisions/0023). */

const ELEVEN_MONTHS = { before: '2027-10-19T23:59:59.999Z', on: '2027-10-20T00:00:00Z' };
const TWELVE_MONTHS = { before: '2027-11-19T23:59:59.999Z', on: '2027-11-20T00:00:00Z' };

const service = await Service.start();
const harness = RetentionHarness.forDatabase(service.databaseUrl);
await harness.disableRollUp();
beforeEach(() => service.clock.set(NOW));
afterEach(() => service.sql('truncate license, activation, graphile_worker._private_jobs cascade'));

/** Runs the retention at this time. */
async function runAt(time: string) {
  service.clock.set(time);
  harness.clock.set(time);
  const { deleted, activations_ended } = await harness.run(time);
  return { licenses: deleted['license'] ?? 0, activations: activations_ended };
}

const END = {
  revoked: { staff_status: 'revoked' },
  expired: { on_expiry: 'stop', expires_at: new Date(NOW) },
} as const;

/** A license that ended at NOW, with an active machine. */
async function endedLicense(by: keyof typeof END) {
  const license = await service.issue();
  const { token, activation } = (await service.activate(license)).json;
  await service.setLicense(license.license_id, END[by]);
  return { ...license, token: token as string, activation: activation.id as string };
}

describe.each([
  ['revoked', 'license_revoked', 'license_revoked'],
  ['expired', 'license_expired', 'binding_released'],
] as const)('a license that is %s', (by, codeBefore, codeAfter) => {
  test('has its activations ended after 11 months, and is deleted after 12', async () => {
    const license = await endedLicense(by);
    const codes = async () => [
      (await service.heartbeat(license.token)).json.code,
      (await service.activate(license)).json.code,
    ];
    expect(await runAt(ELEVEN_MONTHS.before)).toEqual({ licenses: 0, activations: 0 });
    expect(await codes()).toEqual([codeBefore, codeBefore]);
    expect(await runAt(ELEVEN_MONTHS.on)).toEqual({ licenses: 0, activations: 1 });
    expect(await codes()).toEqual([codeAfter, codeBefore]);
    expect(await runAt(TWELVE_MONTHS.before)).toEqual({ licenses: 0, activations: 0 });
    expect(await codes()).toEqual([codeAfter, codeBefore]);
    expect(await runAt(TWELVE_MONTHS.on)).toEqual({ licenses: 1, activations: 0 });
    expect(await codes()).toEqual(['token_invalid', 'license_not_found']);
  });

  test('keeps its activations and their tokens if it becomes valid again within 11 months', async () => {
    const license = await endedLicense(by);
    await runAt(ELEVEN_MONTHS.before);
    await service.setLicense(license.license_id, { staff_status: 'active', expires_at: null });
    expect(await runAt(TWELVE_MONTHS.on)).toEqual({ licenses: 0, activations: 0 });
    expect((await service.heartbeat(license.token)).status).toBe(200);
  });

  test('can be activated on its machine again if it becomes valid again in the twelfth month', async () => {
    const license = await endedLicense(by);
    await runAt(ELEVEN_MONTHS.on);
    await service.setLicense(license.license_id, { staff_status: 'active', expires_at: null });
    expect((await service.heartbeat(license.token)).json.code).toBe('binding_released');
    expect((await service.activate(license)).status).toBe(201);
    expect(await runAt('2030-01-01T00:05:00Z')).toEqual({ licenses: 0, activations: 0 });
  });

  test('is not deleted in the two weeks after its activations ended, however late the run is', async () => {
    await endedLicense(by);
    expect(await runAt('2028-03-01T00:05:00.000Z')).toEqual({ licenses: 0, activations: 1 });
    expect(await runAt('2028-03-15T00:04:59.999Z')).toEqual({ licenses: 0, activations: 0 });
    expect(await runAt('2028-03-15T00:05:00.001Z')).toEqual({ licenses: 1, activations: 0 });
  });

  test('is not deleted earlier by a run for a future day (--as-of)', async () => {
    await endedLicense(by);
    const runForFuture = () => harness.run('2028-01-01T00:00:00Z');
    harness.clock.set(ELEVEN_MONTHS.before);
    expect(await runForFuture()).toMatchObject({ activations_ended: 0, deleted: {} });
    // By the clock the activation ended only now. The two weeks until the deletion of its license are not counted by --as-of.
    harness.clock.set(ELEVEN_MONTHS.on);
    expect(await runForFuture()).toMatchObject({ activations_ended: 1, deleted: {} });
    expect(await harness.count('license')).toBe(1);
  });
});

test('an activation that the retention ends is recorded like any release, and no mail is sent', async () => {
  const { license_id, activation } = await endedLicense('revoked');
  await harness.insert('release_request', { activation_id: activation, language: 'de' });
  const jobs = await harness.count('graphile_worker._private_jobs');
  await runAt(ELEVEN_MONTHS.on);
  const at = new Date(ELEVEN_MONTHS.on);
  expect(await service.sql('select ended_at, ended_reason, released_by_holder from activation')).toEqual([
    { ended_at: at, ended_reason: 'released', released_by_holder: false },
  ]);
  expect(await service.sql('select decision, decided_at, language from release_request')).toEqual([
    { decision: 'release', decided_at: at, language: null },
  ]);
  expect(
    await service.sql(
      `select actor, license_id, reason, change, at from audit_event where action = 'activation.release'
       order by id desc limit 1`,
    ),
  ).toEqual([
    {
      actor: 'retention',
      license_id,
      reason: 'The license ended over 11 months ago, and its end has not been changed in that time.',
      change: { activation_id: activation },
      at,
    },
  ]);
  expect(await harness.count('graphile_worker._private_jobs')).toBe(jobs);
});

test('all due activations are ended, also more than one batch, and none of a valid license', async () => {
  const [old, valid] = [randomUUID(), randomUUID()];
  await harness.insert('license', { id: old, ended_at: '2025-12-20', machines_allowed: 2_000 });
  await harness.insert('license', { id: valid, machines_allowed: 2_000 });
  await service.sql(
    `insert into activation (id, license_id, machine_id, app_version, activated_at)
     select gen_random_uuid(), license, sha256(n::text::bytea), '1.0', '2010-01-01'
     from unnest($1::uuid[]) license, generate_series(1, 1001) n`,
    [[old, valid]],
  );
  harness.clock.set(NOW);
  const dry = await harness.retention.run(undefined, { dryRun: true });
  expect([dry?.activations_ended, dry?.deleted]).toEqual([1_001, {}]);
  expect(await runAt(NOW)).toEqual({ licenses: 0, activations: 1_001 });
  const left = await service.sql('select distinct license_id from activation where ended_at is null');
  expect(left).toEqual([{ license_id: valid }]);
});

test('a license that is corrected during a run keeps its activations', async () => {
  const license = await endedLicense('expired');
  const renewal = 'update license set expires_at = null where id = $1';
  const staff = await OpenTransaction.begin(service, renewal, [license.license_id]);
  // The run skips rows that another transaction has locked.
  expect(await runAt(TWELVE_MONTHS.on)).toEqual({ licenses: 0, activations: 0 });
  await staff.commit();
  expect(await runAt(TWELVE_MONTHS.on)).toEqual({ licenses: 0, activations: 0 });
  expect((await service.heartbeat(license.token)).status).toBe(200);
});

/** Applies only the rule that deletes licenses. No activation is ended before. */
async function deleteLicenses(changeOfRule = {}): Promise<number> {
  const rule = {
    ...createRetentionPolicy({ taxRetentionYears: 10 }).find(({ table }) => table === 'license')!,
    ...changeOfRule,
  };
  const runner: QueryRunner = service.app.get(DataSource).createQueryRunner();
  try {
    const later = new Date('2040-01-01T00:00:00Z');
    return await deleteExpired(runner, rule, { asOf: later, now: later });
  } finally {
    await runner.release();
  }
}

test('a license with an activation that never ended cannot be deleted', async () => {
  await endedLicense('revoked');
  await endedLicense('expired');
  expect(await deleteLicenses()).toBe(0);
  // Without the condition the foreign key refuses the deletion.
  await expect(deleteLicenses({ deleteCondition: undefined })).rejects.toThrow(/activation_license_id_fkey/);
  expect([await harness.count('license'), await harness.count('activation')]).toEqual([2, 2]);
  await service.sql(`update activation set ended_at = $1, ended_reason = 'released'`, [NOW]);
  expect(await deleteLicenses()).toBe(2);
});
