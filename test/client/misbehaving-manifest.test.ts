import { afterEach, describe, expect, test } from '@jest/globals';
import type { NoUpdateReason, UpdateCheck } from '../../client/src/client.js';
import { at, DAY } from './harness.js';
import { image, makeKey, manifest } from './publisher.js';
import { WiredDesk } from './wired-desk.js';

const open: WiredDesk[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((desk) => desk.close()));
});

/** An application that runs 3.1.0 and was offered 3.2.0, by a manifest with the sequence 2. */
async function offered(): Promise<{ desk: WiredDesk; checks: UpdateCheck[] }> {
  const desk = await WiredDesk.wired();
  const checks: UpdateCheck[] = [];
  open.push(desk);
  desk.remote.publish({ version: '3.2.0' });
  await desk.open({ onUpdateCheck: (check) => checks.push(check) });
  expect(await desk.client.checkForUpdate()).toMatchObject({ offer: { version: '3.2.0' } });
  return { desk, checks };
}

const stranger = makeKey();

/** What the service hands out instead, long after the good one was seen. */
const BAD: [string, NoUpdateReason, (desk: WiredDesk) => object][] = [
  ['an older manifest again', 'sequence_too_low', ({ remote }) => manifest({ sequence: 1 }, [remote.key])],
  [
    'a newer version under a lower sequence',
    'sequence_too_low',
    ({ remote }) => manifest({ sequence: 1, version: '9.0.0' }, [remote.key]),
  ],
  [
    'another manifest under the same sequence',
    'equivocation',
    ({ remote }) => manifest({ sequence: 2, version: '3.2.1' }, [remote.key]),
  ],
  [
    'one past its expiry',
    'expired',
    ({ remote, truth }) =>
      manifest({ sequence: 3, version: '9.0.0', expires_at: at(truth - 1) }, [remote.key]),
  ],
  [
    'that of another product',
    'wrong_product',
    ({ remote }) => manifest({ sequence: 3, version: '9.0.0', product: 'com.example.other' }, [remote.key]),
  ],
  [
    'one signed by a strange key',
    'untrusted',
    () => manifest({ sequence: 3, version: '9.0.0', expires_at: '2099-01-01T00:00:00Z' }, [stranger]),
  ],
  [
    'one by a strange key that calls itself ours',
    'untrusted',
    ({ remote: { key } }) =>
      manifest({ sequence: 3, version: '9.0.0' }, [{ ...stranger, key_id: key.key_id }]),
  ],
  ['one whose signed text is an object', 'malformed', ({ remote }) => ({ ...remote.published, signed: {} })],
];

describe('in the manifest’s place', () => {
  test.each(BAD)('%s is no update: %s, and the log says so', async (_, reason, made) => {
    const { desk, checks } = await offered();
    desk.remote.published = made(desk);
    desk.remote.sequence += 1;
    desk.log.length = 0;
    await desk.pass(2 * DAY);
    const no = { available: false, reason };
    expect(checks.slice(1)).toEqual([no, no]);
    const line =
      reason === 'equivocation' ? /^EQUIVOCATION: / : new RegExp(`^no update available: ${reason}$`);
    expect(desk.log).toEqual([expect.stringMatching(line), expect.stringMatching(line)]);
    expect(await desk.restart()).toEqual({ kind: 'not_activated' });
    expect(await desk.client.checkForUpdate()).toEqual(no);
  });

  test('a good one after it is offered again', async () => {
    const { desk } = await offered();
    desk.remote.published = manifest({ sequence: 9, version: '9.0.0' }, [stranger]);
    desk.remote.sequence = 9;
    expect((await desk.client.checkForUpdate()).available).toBe(false);
    desk.remote.publish({ version: '3.3.0' });
    expect(await desk.client.checkForUpdate()).toMatchObject({ offer: { version: '3.3.0' } });
  });

  test.each<[string, unknown]>([
    ['version', '99.0.0'],
    ['dmg_sha256', '00'.repeat(32)],
    ['minimum_license_expiry', '2099-01-01T00:00:00Z'],
    ['signature', 'A'.repeat(86)],
    ['key_id', stranger.key_id],
  ])('one whose outer %s was changed is judged by what is signed', async (name, lie) => {
    const { desk } = await offered();
    desk.remote.publish({ version: '3.4.0' });
    expect(desk.remote.published).toHaveProperty(name);
    desk.remote.published = { ...desk.remote.published, [name]: lie };
    expect(await desk.client.checkForUpdate()).toEqual({
      available: true,
      offer: { version: '3.4.0', dmg: image('3.2.0'), minimum_license_expiry: null },
      newest_version: '3.4.0',
    });
  });

  test('the same one for ever is an update for 90 days, and then no more', async () => {
    const { desk, checks } = await offered();
    await desk.pass(89 * DAY);
    expect(new Set(checks.map(({ available }) => available))).toEqual(new Set([true]));
    await desk.pass(3 * DAY);
    expect(checks.at(-1)).toEqual({ available: false, reason: 'expired' });
  });
});
