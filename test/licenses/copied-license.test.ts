import { beforeEach, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { machineDigest } from '../../client/src/license-token.js';
import { at, DAY, HOUR, MINUTE, START } from '../client/harness.js';
import { ConnectedComputer } from '../client/connected-computer.js';
import { machineId, Service, type IssuedLicense } from '../support/harness.js';

type State = Awaited<ReturnType<ConnectedComputer['state']>>;

const service = await Service.start();
beforeEach(() => service.clock.set(new Date(START)));

const activeMachineIds = async (license: IssuedLicense) =>
  (await service.activeMachines(license)).map(({ machine }) => machine);

/** A license for one machine, its active machine with its token, and five copies of the state file. `exp` is in milliseconds. */
async function copyToFive() {
  const license = await service.issue();
  const owner = await ConnectedComputer.create(service, 'the owner');
  await owner.activate(license);
  const names = ['a copy', 'a second copy', 'a third copy', 'a fourth copy', 'a fifth copy'];
  const copies = await Promise.all(names.map((name) => owner.copyTo(name)));
  const { token } = (await owner.state()).license;
  return { license, owner, copies, token, exp: decodeJwt(token).exp! * 1000 };
}

/** Edits of the state file that need no signing key. */
const EDITS: [name: string, edit: (state: State) => void][] = [
  ['not edited', () => undefined],
  [
    'with an offline_until in 400 days',
    ({ license }) => void (license.offline_until = at(START + 400 * DAY)),
  ],
  [
    'with an offline_until in 400 days and no highest time seen',
    (state) => {
      state.license.offline_until = at(START + 400 * DAY);
      state.time.highest_seen = null;
    },
  ],
  [
    'with an offline_until in 400 days and a highest time seen of 400 days ago',
    (state) => {
      state.license.offline_until = at(START + 400 * DAY);
      state.time.highest_seen = at(START - 400 * DAY);
    },
  ],
];

describe('license.json copied to five other machines, for a license of one machine', () => {
  test('each copy tries to activate in the background instead of sending the token, and is refused', async () => {
    const { license, owner, copies, token } = await copyToFive();
    for (const copy of copies) {
      expect((await copy.open()).kind).toBe('running');
      await copy.advanceTime(2 * MINUTE);
      expect(copy.calls).toEqual([]);
      await copy.advanceTime(8 * MINUTE);
      expect(copy.calls).toEqual(['/v1/activate 409']);
      const [{ body } = { body: {} }] = copy.answeredCalls;
      // The hostname hint is not sent, because it was typed for the other machine.
      expect(body).toEqual({
        license_key: license.license_key,
        email: license.email,
        machine_id: machineId(copy.hardware!),
        app_version: '3.1.0',
      });
      expect(copy.client.status).toMatchObject({
        kind: 'running',
        machine_limit_reached: {
          machines_allowed: 1,
          machines_in_use: 1,
          portal_url: expect.stringMatching(/\/portal\/$/),
          release_url: expect.stringContaining('/portal/#release='),
        },
      });
      expect(copy.states.at(-1)).toEqual(copy.client.status);
    }
    await owner.advanceTime(DAY);
    for (const copy of copies) await copy.advanceTime(2 * DAY);
    expect(owner.client.status).not.toHaveProperty('machine_limit_reached');
    for (const copy of copies) {
      expect(copy.client.status.kind).toBe('running');
      expect(copy.answeredCalls.length).toBeGreaterThan(6);
      expect(new Set(copy.calls)).toEqual(new Set(['/v1/activate 409']));
    }
    expect(await activeMachineIds(license)).toEqual([machineId('the owner')]);
    expect(owner.sentTokens[0]).toBe(token);
  });

  test('a copy that keeps running stops at the first refusal after exp', async () => {
    const { copies, exp } = await copyToFive();
    const copy = copies[0]!;
    await copy.open();
    // After a refusal the client tries again within 6.6 hours.
    await copy.advanceTime(exp - copy.time.wall + 7 * HOUR);
    expect(copy.client.status).toMatchObject({ kind: 'stopped', reason: 'machine_limit_reached' });
    expect(copy.sentTokens).toEqual([]);
  });

  test.each(EDITS)('no copy starts after exp, with a file %s', async (_name, edit) => {
    const { owner, copies, exp, license } = await copyToFive();
    expect((await owner.client.heartbeatNow()).kind).toBe('running');
    for (const [index, copy] of copies.entries()) {
      await copy.open();
      // The first copy runs nearly until exp, the others for an hour only.
      await copy.advanceTime(index === 0 ? 6.9 * DAY : HOUR);
      await copy.client.close();
      copy.time.wall = exp + MINUTE;
      await copy.edit(edit);
      copy.isOnline = false;
      const status = await copy.open();
      expect(status.kind === 'needs_network' && Date.parse(status.offline_until)).toBe(exp);
      copy.isOnline = true;
      expect(await copy.client.heartbeatNow()).toMatchObject({
        kind: 'stopped',
        reason: 'machine_limit_reached',
      });
      const calls = copy.answeredCalls.length;
      expect((await copy.restart()).kind).toBe('stopped');
      // A stopped copy sends no license call, neither at its start nor in the background.
      await copy.advanceTime(3 * DAY);
      expect(copy.answeredCalls).toHaveLength(calls);
      expect(copy.sentTokens).toEqual([]);
    }
    expect(await activeMachineIds(license)).toEqual([machineId('the owner')]);
  });

  test.each([null, at(START - 400 * DAY)])(
    'editing all times in the file at once gains 7 days per edit, and no activation: highest_seen %s',
    async (highest_seen) => {
      const { copies, exp, license } = await copyToFive();
      const copy = copies[0]!;
      copy.time.wall = exp + 30 * DAY;
      await copy.edit((state) => {
        state.license.offline_until = at(START + 400 * DAY);
        state.time = { highest_seen, clock_ahead_seconds: (400 * DAY) / 1000 };
      });
      expect((await copy.open()).kind).toBe('running');
      await copy.advanceTime(6 * DAY);
      expect((await copy.restart()).kind).toBe('running');
      await copy.advanceTime(1.5 * DAY);
      expect((await copy.restart()).kind).toBe('stopped');
      expect(new Set(copy.calls)).toEqual(new Set(['/v1/activate 409']));
      expect(await activeMachineIds(license)).toHaveLength(1);
    },
  );

  test('a copy that can activate gets a token of its own', async () => {
    const { license, copies, owner } = await copyToFive();
    await service.setLicense(license.license_id, { machines_allowed: 2 });
    const copy = copies[0]!;
    await copy.open();
    await copy.advanceTime(DAY);
    expect(copy.calls.slice(0, 2)).toEqual(['/v1/activate 201', '/v1/heartbeat 200']);
    expect((await copy.state()).license.hostname_hint).toBeNull();
    await owner.advanceTime(DAY);
    expect(owner.calls.slice(0, 2)).toEqual(['/v1/activate 201', '/v1/heartbeat 200']);
    expect(await activeMachineIds(license)).toHaveLength(2);
  });
});

/**
 * Edits a token, so that its signature is no longer valid. The claims then name `machine`, and by default an `exp` in 400 days.
 * @param kid replaces the key id @param change claims to set in addition
 */
function editToken(token: string, machine: string, kid?: string, change: object = {}): string {
  const [head, payload, signature] = token.split('.');
  const read = (part?: string) => JSON.parse(Buffer.from(part!, 'base64url').toString()) as object;
  const write = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  const claims = {
    ...read(payload),
    mch: machineDigest(machineId(machine)),
    exp: (START + 400 * DAY) / 1000,
    ...change,
  };
  return `${kid ? write({ ...read(head), kid }) : head}.${write(claims)}.${signature}`;
}

/** The latest time that a token may have, as a Unix time in seconds. */
const END_OF_YEAR_9999 = 253_402_300_799;

describe('a copied license.json whose token was edited', () => {
  async function copyWithEditedToken(
    { areKeysShipped }: { areKeysShipped: boolean },
    change: (token: string, machine: string) => string,
  ) {
    const { copies, exp, license } = await copyToFive();
    const { json } = await service.call('GET', '/v1/keys');
    const keys = (json as { keys: { for: string; x: string }[] }).keys.filter(
      (key) => key.for === 'license-token',
    );
    const tokenKeys = areKeysShipped ? keys.map(({ x }) => x) : [];
    const copy = copies[0]!;
    await copy.edit((state) => {
      state.license.token = change(state.license.token, copy.hardware!);
      state.license.offline_until = at(START + 400 * DAY);
    });
    copy.isOnline = false;
    return { copy, exp, license, start: () => copy.open({ tokenKeys }) };
  }

  test.each([
    ['to another format', () => 'not a token'],
    ['in its claims, with its kid unchanged', (token: string, machine: string) => editToken(token, machine)],
    [
      'with an invented kid, for longer than 7 days',
      (token: string, machine: string) => editToken(token, machine, 'invented'),
    ],
    [
      'with an invented kid, with an exp that is not after iat',
      (token: string, machine: string) =>
        editToken(token, machine, 'invented', { iat: END_OF_YEAR_9999, exp: END_OF_YEAR_9999 }),
    ],
  ])('%s, with shipped token keys: the edit gains nothing', async (_name, change) => {
    const { copy, license, start } = await copyWithEditedToken({ areKeysShipped: true }, change);
    expect((await start()).kind).toBe('needs_network');
    copy.isOnline = true;
    expect(await copy.client.heartbeatNow()).toMatchObject({
      kind: 'stopped',
      reason: 'machine_limit_reached',
    });
    expect(copy.calls).toEqual(['/v1/heartbeat 403', '/v1/activate 409']);
    expect(await activeMachineIds(license)).toHaveLength(1);
  });

  test.each([
    [
      'with an invented kid, though token keys are shipped',
      true,
      'invented',
      { exp: START / 1000 + 7 * 86_400 },
    ],
    ['with an exp in 400 days, without token keys', false, undefined, {}],
  ])(
    '%s: the copy starts without the network until 7 days after iat, as an unedited copy does, and gets no activation',
    async (_name, areKeysShipped, kid, claims) => {
      const { copy, exp, license, start } = await copyWithEditedToken({ areKeysShipped }, (token, machine) =>
        editToken(token, machine, kid, claims),
      );
      expect((await start()).kind).toBe('running');
      await copy.client.close();
      copy.time.wall = exp + MINUTE;
      expect((await start()).kind).toBe('needs_network');
      copy.isOnline = true;
      expect((await copy.client.heartbeatNow()).kind).toBe('stopped');
      expect(await activeMachineIds(license)).toHaveLength(1);
    },
  );

  describe.each([true, false])('with an iat far in the future, token keys shipped: %p', (areKeysShipped) => {
    const copyWithTimes = async (iat: number, exp: number) => {
      const prepared = await copyWithEditedToken({ areKeysShipped }, (token, machine) =>
        editToken(token, machine, 'invented', { iat, exp }),
      );
      await prepared.copy.edit(({ license }) => void (license.offline_until = '9999-12-31T23:59:59Z'));
      return prepared;
    };

    test('one edit with an iat just before exp allows no later start', async () => {
      const { copy, start, license } = await copyWithTimes(END_OF_YEAR_9999 - 60, END_OF_YEAR_9999);
      expect((await start()).kind).toBe('running');
      await copy.advanceTime(8 * HOUR);
      for (const days of [0, 8, 30, 365, 3000]) {
        await copy.client.close();
        copy.time.wall = START + days * DAY;
        expect([days, (await start()).kind]).toEqual([days, 'needs_network']);
        await copy.advanceTime(HOUR);
      }
      copy.isOnline = true;
      expect((await copy.client.heartbeatNow()).kind).toBe('stopped');
      expect(await activeMachineIds(license)).toHaveLength(1);
    });

    test.each([END_OF_YEAR_9999 - 8 * 86_400, Date.parse('2060-01-01T00:00:00Z') / 1000])(
      'one edit of iat to %i gains 7 days of running time, also if these days are spread over 700 days',
      async (iat) => {
        const { copy, start, license } = await copyWithTimes(iat, iat + 7 * 86_400);
        for (let day = 0; day < 7; day++) {
          expect([day, (await start()).kind]).toEqual([day, 'running']);
          await copy.advanceTime(DAY);
          await copy.client.close();
          copy.time.wall += 100 * DAY;
        }
        // A start at the exact end still succeeds.
        expect((await start()).kind).toBe('running');
        await copy.advanceTime(MINUTE);
        await copy.client.close();
        for (const days of [0, 100, 3000]) {
          copy.time.wall += days * DAY;
          expect([days, (await start()).kind]).toEqual([days, 'needs_network']);
          await copy.client.close();
        }
        expect(await activeMachineIds(license)).toHaveLength(1);
      },
    );
  });

  test('to another format, without token keys: only offline_until counts, as docs/clients.md says', async () => {
    const { copy, exp, license, start } = await copyWithEditedToken(
      { areKeysShipped: false },
      () => 'not a token',
    );
    copy.time.wall = exp + 30 * DAY;
    expect((await start()).kind).toBe('running');
    copy.isOnline = true;
    await copy.client.heartbeatNow();
    expect(copy.calls).toEqual(['/v1/heartbeat 403', '/v1/activate 409']);
    expect(await activeMachineIds(license)).toHaveLength(1);
  });
});

describe('a copy of the file of a stopped client:', () => {
  async function stoppedCopy(code: 'suspended' | 'released') {
    const { license, owner, copies } = await copyToFive();
    if (code === 'suspended') await service.setLicense(license.license_id, { staff_status: 'suspended' });
    else
      await service.sql(
        `update activation set ended_at = $2, ended_reason = 'released' where license_id = $1`,
        [license.license_id, new Date(START)],
      );
    expect((await owner.client.heartbeatNow()).kind).toBe('stopped');
    const copy = await owner.copyTo(copies[0]!.hardware!);
    return { license, owner, copy };
  }

  test('a start sends no license call; Retry activates this machine if the license allows it', async () => {
    const { license, copy, owner } = await stoppedCopy('suspended');
    expect(await copy.open()).toMatchObject({ kind: 'stopped', reason: 'license_suspended' });
    await copy.advanceTime(DAY);
    expect(copy.calls).toEqual([]);
    await service.setLicense(license.license_id, { staff_status: 'active' });
    expect(await copy.client.heartbeatNow()).toMatchObject({
      kind: 'stopped',
      reason: 'machine_limit_reached',
    });
    expect((await owner.client.heartbeatNow()).kind).toBe('running');
    await service.setLicense(license.license_id, { machines_allowed: 2 });
    expect((await copy.client.heartbeatNow()).kind).toBe('running');
    expect(copy.sentTokens).toEqual([]);
  });

  test('after a release of the first machine, a copy on another machine activates in the background, because that one was not released', async () => {
    const { license, copy } = await stoppedCopy('released');
    expect((await copy.open()).kind).toBe('running');
    await copy.advanceTime(10 * MINUTE);
    expect(copy.calls).toEqual(['/v1/activate 201']);
    expect(await activeMachineIds(license)).toEqual([machineId(copy.hardware!)]);
  });
});

describe('a released machine whose stored token was replaced', () => {
  // docs/clients.md#what-copying-the-file-gains describes this.
  const REPLACEMENTS: [name: string, change: (token: string, machine: string) => string, calls: string[]][] =
    [
      ['text that is not a token', () => 'not a token', ['/v1/heartbeat 403']],
      ['a token with the mch of another machine', (token) => editToken(token, 'another machine'), []],
      [
        'a token with an unknown kid',
        (token, machine) => editToken(token, machine, 'unknown'),
        ['/v1/heartbeat 403'],
      ],
    ];

  async function releaseAndReplaceToken(change: (token: string, machine: string) => string) {
    const { license, owner } = await copyToFive();
    await owner.client.close();
    await service.sql(
      `update activation set ended_at = $2, ended_reason = 'released' where license_id = $1`,
      [license.license_id, new Date(START)],
    );
    await owner.edit(({ license: stored }) => {
      stored.token = change(stored.token, owner.hardware!);
    });
    owner.answeredCalls.length = 0;
    return { license, owner };
  }

  test.each(REPLACEMENTS)(
    'by %s: it activates in the background if the machine limit allows it',
    async (_name, change, calls) => {
      const { license, owner } = await releaseAndReplaceToken(change);
      expect((await owner.open()).kind).toBe('running');
      await owner.advanceTime(10 * MINUTE);
      expect(owner.calls).toEqual([...calls, '/v1/activate 201']);
      expect(await activeMachineIds(license)).toEqual([machineId('the owner')]);
    },
  );

  test.each(REPLACEMENTS)(
    'by %s: it is refused with machine_limit_reached if the limit is reached',
    async (_name, change, calls) => {
      const { license, owner } = await releaseAndReplaceToken(change);
      const other = await ConnectedComputer.create(service, 'the active machine');
      await other.activate(license);
      expect((await owner.open()).kind).toBe('running');
      await owner.advanceTime(10 * MINUTE);
      expect(owner.calls).toEqual([...calls, '/v1/activate 409']);
      expect(owner.client.status).toMatchObject({ kind: 'running', machine_limit_reached: {} });
      owner.time.wall += 8 * DAY;
      await owner.restart();
      expect(await owner.client.heartbeatNow()).toMatchObject({ reason: 'machine_limit_reached' });
      expect(await activeMachineIds(license)).toEqual([machineId('the active machine')]);
    },
  );
});

test('copies are confirmed only while their machine id cannot be read', async () => {
  const { license, copies, owner } = await copyToFive();
  for (const copy of copies) {
    const { hardware } = copy;
    copy.hardware = null;
    await copy.open();
    await copy.advanceTime(DAY);
    copy.time.wall += 8 * DAY;
    expect((await copy.restart()).kind).toBe('running');
    expect(new Set(copy.calls)).toEqual(new Set(['/v1/heartbeat 200']));
    copy.hardware = hardware;
    copy.answeredCalls.length = 0;
    await copy.restart();
    await copy.advanceTime(DAY);
    expect(new Set(copy.calls)).toEqual(new Set(['/v1/activate 409']));
  }
  expect(await activeMachineIds(license)).toEqual([machineId(owner.hardware!)]);
});
