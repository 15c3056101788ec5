import { beforeEach, describe, expect, test } from '@jest/globals';
import { join } from 'node:path';
import { ReleaseService } from '../../src/releases/release.service.js';
import { KeyRing } from '../../src/keys/tokens/key-ring.js';
import { revokeKey, rotateKeys } from '../../src/keys/tokens/rotation.js';
import { RetentionService } from '../../src/retention/retention.service.js';
import { at, DAY, Computer, HOUR, MINUTE, START } from '../client/harness.js';
import { ConnectedComputer } from '../client/connected-computer.js';
import { AUDIT_CONTEXT, machineId, Service } from '../support/harness.js';

// These tests check the rows of docs/clients.md#when-the-machine-or-the-file-changes with the client and a real service. For the
// row about tokens of another format, the service is the `FakeService` of `Computer` (test/client/harness.ts). The row about an
// application version that is not covered is tested in test/client/restart.test.ts.

type Options = Parameters<typeof ConnectedComputer.create>[2];

const service = await Service.start();
beforeEach(() => service.clock.set(new Date(START)));

async function activatedComputer(machines_allowed = 1, options?: Options) {
  const license = await service.issue({ machines_allowed });
  const computer = await ConnectedComputer.create(service, 'the first hardware', options);
  await computer.activate(license);
  return { license, computer };
}

const release = (id: string) => service.app.get(ReleaseService).release(id, AUDIT_CONTEXT);

/** Checks that the client, after its first status, was never stopped and never without an activation. */
function expectNeverStopped(computer: Computer): void {
  const kinds = computer.states.map(({ kind }) => kind);
  expect(kinds.slice(1).filter((kind) => kind === 'stopped' || kind === 'not_activated')).toEqual([]);
}

describe.each([
  [
    'a logic board is replaced',
    async (computer: ConnectedComputer) => {
      await computer.client.close();
      computer.hardware = 'the second hardware';
      return computer;
    },
  ],
  [
    'a disk is moved to another computer',
    async (computer: ConnectedComputer) => {
      await computer.client.close();
      return computer.copyTo('the second hardware');
    },
  ],
])('%s', (_name, change) => {
  test('with the machine limit reached: the client runs with machine_limit_reached, and activates after the release of the old machine', async () => {
    const { license, computer: before } = await activatedComputer();
    const computer = await change(before);
    computer.isOnline = false;
    expect((await computer.open()).kind).toBe('running');
    computer.isOnline = true;
    await computer.advanceTime(6 * DAY);
    expect(computer.client.status).toMatchObject({
      kind: 'running',
      machine_limit_reached: { machines_allowed: 1 },
    });
    expect((await computer.restart()).kind).toBe('running');
    const [old] = await service.activeMachines(license);
    await release(old!.id);
    await computer.advanceTime(10 * MINUTE);
    expect(computer.client.status).not.toHaveProperty('machine_limit_reached');
    expect((await service.activeMachines(license)).map(({ machine }) => machine)).toEqual([
      machineId('the second hardware'),
    ]);
    await computer.advanceTime(8 * DAY);
    expect((await computer.restart()).kind).toBe('running');
    expectNeverStopped(computer);
  });

  test('below the machine limit: the client activates with its first request', async () => {
    const { license, computer: before } = await activatedComputer(2);
    const computer = await change(before);
    computer.answeredCalls.length = 0;
    await computer.open();
    await computer.advanceTime(10 * MINUTE);
    expect(computer.calls).toEqual(['/v1/activate 201']);
    expect(await service.activeMachines(license)).toHaveLength(2);
    expectNeverStopped(computer);
  });

  test('with a first start after the end of the token: Retry succeeds after the release of the old machine', async () => {
    const { license, computer: before } = await activatedComputer();
    const computer = await change(before);
    computer.time.wall += 8 * DAY;
    computer.isOnline = false;
    expect((await computer.open()).kind).toBe('needs_network');
    computer.isOnline = true;
    expect(await computer.client.heartbeatNow()).toMatchObject({
      kind: 'stopped',
      reason: 'machine_limit_reached',
      extras: { portal_url: expect.stringMatching(/\/portal\/$/) },
    });
    const [old] = await service.activeMachines(license);
    await release(old!.id);
    expect((await computer.client.heartbeatNow()).kind).toBe('running');
    expect(computer.sentTokens).toEqual([]);
  });
});

describe('a virtual machine is cloned', () => {
  test('the clone activates as another machine, and the original is not affected', async () => {
    const { license, computer } = await activatedComputer(2);
    const clone = await computer.copyTo('the hardware of the clone');
    for (const each of [clone, computer]) {
      if (each === clone) await each.open();
      await each.advanceTime(3 * DAY);
      expect((await each.restartAfter(6 * DAY)).kind).toBe('running');
      expectNeverStopped(each);
    }
    expect(await service.activeMachines(license)).toHaveLength(2);
    expect(new Set(clone.calls)).toEqual(new Set(['/v1/activate 201', '/v1/heartbeat 200']));
  });
});

describe('one home folder is used alternately on two computers', () => {
  test('each computer has its own activation, and neither stops', async () => {
    const { license, computer } = await activatedComputer(2);
    for (let day = 0; day < 6; day++) {
      await computer.client.close();
      computer.hardware = day % 2 ? 'the first hardware' : 'the second hardware';
      expect((await computer.open()).kind).toBe('running');
      await computer.advanceTime(8 * HOUR);
    }
    expectNeverStopped(computer);
    expect(await service.activeMachines(license)).toHaveLength(2);
    expect(new Set(computer.calls)).toEqual(
      new Set(['/v1/activate 201', '/v1/activate 200', '/v1/heartbeat 200']),
    );
  });
});

describe('one home folder on two computers, one of which is released', () => {
  test.each([1, 2])(
    'with %i machines allowed: the released one activates again only below the machine limit',
    async (allowed) => {
      const { license, computer } = await activatedComputer(2);
      const [first] = await service.activeMachines(license);
      await computer.client.close();
      computer.hardware = 'the second hardware';
      await computer.open();
      await computer.advanceTime(10 * MINUTE);
      await release(first!.id);
      await service.setLicense(license.license_id, { machines_allowed: allowed });
      await computer.client.close();
      computer.hardware = 'the first hardware';
      computer.answeredCalls.length = 0;
      await computer.open();
      await computer.advanceTime(10 * MINUTE);
      expect(computer.calls).toEqual([allowed === 2 ? '/v1/activate 201' : '/v1/activate 409']);
      expect(await service.activeMachines(license)).toHaveLength(allowed);
      expectNeverStopped(computer);
    },
  );
});

describe('one home folder on two computers, one of which is released while it runs', () => {
  test('the other one runs, activates in the background and gets its existing activation', async () => {
    const { license, computer } = await activatedComputer(2);
    await computer.client.close();
    computer.hardware = 'the second hardware';
    await computer.open();
    await computer.advanceTime(10 * MINUTE);
    const second = (await service.activeMachines(license)).find(
      (each) => each.machine === machineId('the second hardware'),
    );
    await release(second!.id);
    expect(await computer.client.heartbeatNow()).toMatchObject({
      kind: 'stopped',
      reason: 'binding_released',
    });
    await computer.client.close();
    computer.hardware = 'the first hardware';
    computer.isOnline = false;
    expect((await computer.open()).kind).toBe('running');
    computer.isOnline = true;
    computer.answeredCalls.length = 0;
    await computer.advanceTime(7 * HOUR);
    expect(computer.calls[0]).toBe('/v1/activate 200');
    expect(computer.client.status.kind).toBe('running');
    expect(await service.activeMachines(license)).toHaveLength(1);
  });
});

describe('a backup of the state file is restored', () => {
  test.each([3, 400])('a backup that is %i days old: the next heartbeat renews its token', async (days) => {
    const { license, computer } = await activatedComputer();
    const backup = await computer.copyTo('the first hardware');
    await computer.advanceTime(DAY);
    await computer.client.close();
    backup.time.wall += days * DAY;
    backup.isOnline = false;
    expect((await backup.open()).kind).toBe(days > 7 ? 'needs_network' : 'running');
    backup.isOnline = true;
    expect((await backup.client.heartbeatNow()).kind).toBe('running');
    expect(backup.calls).toEqual(['/v1/heartbeat 200']);
    expectNeverStopped(backup);
    expect(await service.activeMachines(license)).toHaveLength(1);
  });

  test.each([1, 8])(
    'a backup from before a second activation, restored %i days later: the client activates in the background and keeps its activation',
    async (days) => {
      const { license, computer } = await activatedComputer(2);
      const backup = await computer.copyTo('the first hardware');
      await release((await service.activeMachines(license))[0]!.id);
      expect((await computer.client.heartbeatNow()).kind).toBe('stopped');
      await computer.client.activate(license.license_key, license.email);
      await computer.client.close();
      const before = await service.activeMachines(license);
      backup.time.wall += days * DAY;
      expect((await backup.open()).kind).toBe('running');
      await backup.advanceTime(10 * MINUTE);
      expect(backup.calls.slice(0, 2)).toEqual(['/v1/heartbeat 403', '/v1/activate 200']);
      await backup.advanceTime(DAY);
      expect(new Set(backup.calls.slice(2))).toEqual(new Set(['/v1/heartbeat 200']));
      expectNeverStopped(backup);
      expect(await service.activeMachines(license)).toEqual(before);
    },
  );

  test('a backup that was made while the client was stopped: the client stays stopped until the user activates it, which creates no second activation', async () => {
    const { license, computer } = await activatedComputer(2);
    await release((await service.activeMachines(license))[0]!.id);
    expect((await computer.client.heartbeatNow()).kind).toBe('stopped');
    const backup = await computer.copyTo('the first hardware');
    await computer.client.activate(license.license_key, license.email);
    await computer.client.close();
    expect(await backup.open()).toMatchObject({ kind: 'stopped', reason: 'binding_released' });
    expect((await backup.client.activate(license.license_key, license.email)).kind).toBe('running');
    expect(backup.calls).toEqual(['/v1/heartbeat 403', '/v1/activate 200']);
    expect(await service.activeMachines(license)).toHaveLength(1);
  });

  test('a machine that was released and not activated again stays released', async () => {
    const { license, computer } = await activatedComputer(2);
    const backup = await computer.copyTo('the first hardware');
    await release((await service.activeMachines(license))[0]!.id);
    await backup.open();
    await backup.advanceTime(DAY);
    expect(backup.client.status).toMatchObject({ kind: 'stopped', reason: 'binding_released' });
    expect(backup.calls).toEqual(['/v1/heartbeat 403']);
    expect(await service.activeMachines(license)).toEqual([]);
  });

  test('a machine whose released activation was deleted by retention, and that learned of the release only then, activates itself', async () => {
    const { license, computer } = await activatedComputer(2);
    const backup = await computer.copyTo('the first hardware');
    await release((await service.activeMachines(license))[0]!.id);
    service.clock.set(new Date(START + 400 * DAY));
    await service.app.get(RetentionService).run();
    backup.time.wall += 400 * DAY;
    expect((await backup.open()).kind).toBe('running');
    expect(backup.calls).toEqual(['/v1/heartbeat 403', '/v1/activate 201']);
  });
});

describe('the clock of the computer is wrong by a year', () => {
  // If the clock is behind, only the time for which the client runs counts towards the 7 days offline.
  test.each([
    ['ahead', 'needs_network', 365 * DAY],
    ['behind', 'running', -365 * DAY],
  ])(
    'permanently %s: after 6 days offline the client is running, and after 8 days it is %s',
    async (_direction, kind, skew) => {
      const license = await service.issue();
      const computer = await ConnectedComputer.create(service, 'the first hardware');
      computer.setClock(skew);
      await computer.activate(license);
      await computer.advanceTime(10 * DAY);
      computer.isOnline = false;
      expect((await computer.restartAfter(6 * DAY)).kind).toBe('running');
      expect((await computer.restartAfter(2 * DAY)).kind).toBe(kind);
      computer.isOnline = true;
      expect((await computer.client.heartbeatNow()).kind).toBe('running');
      expectNeverStopped(computer);
      expect(new Set(computer.calls)).toEqual(new Set(['/v1/activate 201', '/v1/heartbeat 200']));
    },
  );

  test.each([
    ['ahead', 'needs_network', 365 * DAY],
    ['behind', 'running', -365 * DAY],
  ])(
    'temporarily %s: after an offline start the client is %s, and after a heartbeat it is running',
    async (_direction, kind, skew) => {
      const { computer } = await activatedComputer();
      computer.isOnline = false;
      await computer.client.close();
      computer.setClock(skew);
      expect((await computer.open()).kind).toBe(kind);
      computer.isOnline = true;
      expect((await computer.client.heartbeatNow()).kind).toBe('running');
      computer.isOnline = false;
      await computer.client.close();
      computer.setClock(0);
      expect((await computer.open()).kind).toBe('running');
      expectNeverStopped(computer);
    },
  );
});

describe('the machine id cannot be read', () => {
  test('the token is sent as usual, also after its end', async () => {
    const { computer } = await activatedComputer();
    await computer.client.close();
    computer.hardware = null;
    expect((await computer.open()).kind).toBe('running');
    await computer.advanceTime(DAY);
    expect((await computer.restartAfter(8 * DAY)).kind).toBe('running');
    expect(new Set(computer.calls.slice(1))).toEqual(new Set(['/v1/heartbeat 200']));
    expectNeverStopped(computer);
  });
});

describe('the application is shipped with token keys', () => {
  const tokenDir = () => join(service.dataDir, 'keys', 'tokens');
  const ring = () => service.app.get(KeyRing);
  const publicKeys = async () => {
    const { json } = await service.call('GET', '/v1/keys');
    return (json as { keys: { kid: string; x: string }[] }).keys;
  };
  /** The options of an application that ships only the current signing key. */
  async function shippedOptions(): Promise<Options> {
    const { kid } = ring().active;
    return { tokenKeys: (await publicKeys()).filter((key) => key.kid === kid).map(({ x }) => x) };
  }
  let days = 0;
  /** Returns the time for the next change of the ring, a day after the previous change. */
  const nextDay = () => new Date(Date.now() + (days += 1) * DAY);

  test('and the service rotates its keys later: tokens of the unknown key work as usual', async () => {
    const { computer } = await activatedComputer(1, await shippedOptions());
    const { kid } = ring().active;
    await rotateKeys(tokenDir(), nextDay());
    await ring().reload();
    expect(ring().active.kid).not.toBe(kid);
    await computer.advanceTime(10 * MINUTE);
    expect((await computer.client.heartbeatNow()).kind).toBe('running');
    computer.isOnline = false;
    expect((await computer.restartAfter(6 * DAY)).kind).toBe('running');
    expect((await computer.restartAfter(2 * DAY)).kind).toBe('needs_network');
    computer.isOnline = true;
    expect((await computer.client.heartbeatNow()).kind).toBe('running');
    expectNeverStopped(computer);
  });

  test('and the service revokes its signing key: the machine activates in the background and keeps its activation', async () => {
    const { computer, license } = await activatedComputer(1, await shippedOptions());
    await revokeKey(tokenDir(), ring().active.kid, nextDay());
    await ring().reload();
    computer.isOnline = false;
    expect((await computer.restart()).kind).toBe('running');
    computer.isOnline = true;
    await computer.advanceTime(DAY);
    expect(computer.calls.slice(0, 4)).toEqual([
      '/v1/activate 201',
      '/v1/heartbeat 403',
      '/v1/activate 200',
      '/v1/heartbeat 200',
    ]);
    expectNeverStopped(computer);
    expect(await service.activeMachines(license)).toHaveLength(1);
  });

  test('and a token with a known kid was edited: it allows no offline start, and a heartbeat leads to a new token', async () => {
    const { computer } = await activatedComputer(1, await shippedOptions());
    await computer.client.close();
    await computer.edit(({ license }) => {
      const [head, payload, signature] = license.token.split('.');
      const claims = JSON.parse(Buffer.from(payload!, 'base64url').toString()) as { exp: number };
      const edited = Buffer.from(JSON.stringify({ ...claims, exp: claims.exp + 400 * 86_400 }));
      license.token = [head, edited.toString('base64url'), signature].join('.');
      license.offline_until = at(START + 400 * DAY);
    });
    computer.isOnline = false;
    expect((await computer.open()).kind).toBe('needs_network');
    computer.isOnline = true;
    expect((await computer.client.heartbeatNow()).kind).toBe('running');
    expect(computer.calls.slice(1)).toEqual(['/v1/heartbeat 403', '/v1/activate 200']);
    expectNeverStopped(computer);
  });

  test('and the token has an unknown format: only a client without shipped keys starts offline', async () => {
    const tokenKeys = (await shippedOptions())!.tokenKeys!;
    const computer = await Computer.activated();
    const { answer } = computer.service;
    computer.service.disconnect();
    expect((await computer.restartAfter(6 * DAY)).kind).toBe('running');
    expect((await computer.restart({ tokenKeys })).kind).toBe('needs_network');
    computer.service.answer = answer;
    expect((await computer.client.heartbeatNow()).kind).toBe('running');
    expect((await computer.restart({ tokenKeys })).kind).toBe('running');
    expectNeverStopped(computer);
  });
});
