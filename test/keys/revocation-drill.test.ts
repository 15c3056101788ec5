import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { ReleaseService } from '../../src/releases/release.service.js';
import { KeyRing } from '../../src/keys/tokens/key-ring.js';
import type { KeySummary } from '../../src/keys/tokens/ring-file.js';
import { Terminal } from '../support/processes/cli-harness.js';
import { FakeClock, Service } from '../support/harness.js';
import { Computer } from './rotation-drill-computer.js';
import { temporaryFolder } from '../support/folders.js';

const REASON_ARGS = ['--reason', 'a drill'];
const ZERO_COUNTS = {
  activations: 0,
  unchanged: 0,
  key_replaced: 0,
  address_changed: 0,
  key_replaced_and_address_changed: 0,
  key_not_recorded: 0,
};
const folder = temporaryFolder();

/** Computers with the reference client. */
const computers: Computer[] = [];
const license_ids: string[] = [];

const service = await Service.start({ clock: new FakeClock(new Date()) });
/** The command line, with the database and the keys of the service. */
const terminal = Terminal.beside(service);
for (let i = 0; i < 5; i += 1) await addComputer(`holder-${i}@example.com`);

/** Issues a license for one machine, and activates a computer with it. */
async function addComputer(email: string): Promise<void> {
  const license = await service.issue({ email });
  const computer = new Computer(license, [service.url], join(folder, `${email}.json`));
  computers.push(computer);
  license_ids.push(license.license_id);
  await computer.activate();
}

const listKeys = async (): Promise<KeySummary[]> => {
  const keys = await terminal.json(['keys', 'list']);
  return keys.map(({ key_id: kid, ...rest }: { key_id: string }) => ({ kid, ...rest }));
};
// A key id may begin with a dash, so `--` precedes it.
const revoke = (kid: string, ...more: string[]) => terminal.run(['keys', 'revoke', ...more, '--', kid]);
const dryRun = async (kid: string) => {
  const { code, stderr, json } = await revoke(kid, '--dry-run', '--json');
  expect([code, stderr]).toEqual([0, '']);
  return json;
};
const readActivations = () => service.sql('select * from activation order by license_id, id');
const kidInState = async (state: string) => (await listKeys()).find((key) => key.state === state)!.kid;

/** Makes the next key a minute older, because a key cannot become the active key in its first seconds. */
function ageNextKey(): void {
  const file = join(service.dataDir, 'keys', 'tokens', 'ring.json');
  const { keys } = JSON.parse(readFileSync(file, 'utf8')) as { keys: { state: string; since: string }[] };
  const next = keys.find(({ state }) => state === 'next')!;
  next.since = new Date(Date.parse(next.since) - 60_000).toISOString();
  writeFileSync(file, JSON.stringify({ keys }));
}

test('keys revoke --dry-run counts active machines by how their licenses changed since the activation, and changes nothing', async () => {
  const [, withNewKey, withNewAddress, withBoth, released] = license_ids;
  for (const id of [withNewKey!, withBoth!, released!])
    await terminal.json(['license', 'rekey', id, ...REASON_ARGS]);
  for (const id of [withNewAddress!, withBoth!]) {
    await terminal.json(['license', 'set', id, '--email', `new-${id}@example.com`, ...REASON_ARGS]);
  }
  const { activationId } = computers[4]!;
  await service.app.get(ReleaseService).release(activationId, { actor: 'test', reason: 'a drill' });

  const before = [await listKeys(), await readActivations()];
  const [active, next] = [await kidInState('active'), await kidInState('next')];
  const counts = {
    activations: 4,
    unchanged: 1,
    key_replaced: 1,
    address_changed: 1,
    key_replaced_and_address_changed: 1,
    key_not_recorded: 0,
  };
  expect(await dryRun(active)).toEqual({ key_id: active, state: 'active', ...counts });
  expect(await dryRun(next)).toEqual({ key_id: next, state: 'next', ...ZERO_COUNTS });
  const text = await revoke(active, '--dry-run');
  expect(text).toMatchObject({ code: 0, stderr: '' });
  expect(text.stdout).toContain(
    `Key               ${active} (active)\nMachines          at most 4 have a token`,
  );
  expect(text.stdout).toContain(
    'Both changed      1 on a license whose key and e-mail address both changed\n',
  );
  expect(text.stdout).toContain(
    '\nEach of these machines activates again by itself after the revocation,\nat its next heartbeat',
  );
  expect(text.stdout).not.toContain('may be refused');
  expect([await listKeys(), await readActivations()]).toEqual(before);
});

test('keys revoke --dry-run of a verifying key counts machines that were activated while the key was active', async () => {
  const rotatedOut = await kidInState('active');
  ageNextKey();
  await terminal.json(['keys', 'rotate']);
  await service.app.get(KeyRing).reload();
  service.clock.advance(60_000);
  await addComputer('late@example.com');
  expect(await dryRun(rotatedOut)).toMatchObject({ state: 'verifying', activations: 4 });
  expect(await dryRun(await kidInState('active'))).toMatchObject({ activations: 5 });
});

test('a license whose address a restore lost is counted as one with a changed address', async () => {
  const id = license_ids[0]!;
  const active = await kidInState('active');
  expect(await dryRun(active)).toMatchObject({ unchanged: 2, address_changed: 1 });
  await service.sql('update license set email = null, address_lost_at = now() where id = $1', [id]);
  expect(await dryRun(active)).toMatchObject({ unchanged: 1, address_changed: 2 });
  await service.sql('update license set email = $2, address_lost_at = null where id = $1', [
    id,
    'holder-0@example.com',
  ]);
});

test('a license whose replaced key was not recorded is counted separately, with a warning', async () => {
  const id = license_ids[1]!;
  const deleted = await service.sql('delete from replaced_key where license_id = $1 returning *', [id]);
  const active = await kidInState('active');
  expect(await dryRun(active)).toMatchObject({ activations: 5, key_replaced: 0, key_not_recorded: 1 });
  const { stdout } = await revoke(active, '--dry-run');
  expect(stdout).toContain(
    "\nExcept the machines in the row 'Key not recorded', each machine activates again by itself after the revocation,\n",
  );
  expect(stdout).toContain(
    '\nA machine in that row may be refused, and then stops 7 days after its last heartbeat',
  );
  for (const { license_id, key_hash, replaced_at } of deleted) {
    await service.sql('insert into replaced_key values ($1, $2, $3)', [license_id, key_hash, replaced_at]);
  }
});

test('keys revoke --dry-run refuses an unknown key', async () => {
  const run = await revoke('unknown', '--dry-run');
  expect(run).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('has no key unknown') });
});

test('after the revocation each machine activates again in the background and keeps its activation, a released one is refused, and none stops', async () => {
  const before = await readActivations();
  // Five machines hold a token of this key; the sixth activated after the rotation.
  const leaked = await kidInState('verifying');
  expect(computers.map(({ kid }) => kid === leaked)).toEqual([true, true, true, true, true, false]);
  expect(await revoke(leaked)).toMatchObject({ code: 0 });
  // Without this reload, a heartbeat could still renew a token of the revoked key.
  await service.app.get(KeyRing).reload();
  const affected = computers.slice(0, 5);
  const ids = affected.map(({ activationId }) => activationId);
  for (const computer of affected) computer.startHeartbeats();
  while (!affected.every((computer) => computer.activationResponses.length > 1)) await pause(20);
  for (const computer of affected) await computer.stopHeartbeats();

  for (const [i, computer] of affected.entries()) {
    expect(computer.activationId).toBe(ids[i]);
    expect(new Set(computer.states.map(({ kind }) => kind))).toEqual(new Set(['not_activated', 'running']));
    const repeatedActivations = computer.activationResponses.slice(1);
    // The released machine is refused, and runs until its token ends.
    const expected = i === 4 ? { status: 404 } : { status: 200, id: ids[i], machines_in_use: 1 };
    for (const answer of repeatedActivations) expect(answer).toMatchObject(expected);
  }
  expect(await readActivations()).toEqual(before);
});
