import { afterEach, describe, expect, test } from '@jest/globals';
import type { NoUpdateReason, UpdateCheck } from '../../client/src/client.js';
import { at, DAY } from './harness.js';
import { makeKey, manifest } from './publisher.js';
import { SocketComputer } from './socket-computer.js';

const openComputers: SocketComputer[] = [];
afterEach(async () => {
  await Promise.all(openComputers.splice(0).map((computer) => computer.close()));
});

/** Starts an application of version 3.1.0, which is offered 3.2.0 by a manifest with the sequence 2. */
async function startWithOffer(): Promise<{ computer: SocketComputer; checks: UpdateCheck[] }> {
  const computer = await SocketComputer.create();
  const checks: UpdateCheck[] = [];
  openComputers.push(computer);
  computer.remote.publish({ version: '3.2.0' });
  await computer.open({ onUpdateCheck: (check) => checks.push(check) });
  expect(await computer.client.checkForUpdate()).toMatchObject({ offer: { version: '3.2.0' } });
  return { computer, checks };
}

const untrusted = makeKey();

/** Invalid manifests that the service serves after the client has seen a valid one. */
const INVALID_MANIFESTS: [string, NoUpdateReason, (computer: SocketComputer) => object][] = [
  [
    'the same version under a lower sequence',
    'sequence_too_low',
    ({ remote }) => manifest({ sequence: 1 }, [remote.key]),
  ],
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
    'an expired manifest',
    'expired',
    ({ remote, trueTime }) =>
      manifest({ sequence: 3, version: '9.0.0', expires_at: at(trueTime - 1) }, [remote.key]),
  ],
  [
    'a manifest of another product',
    'wrong_product',
    ({ remote }) => manifest({ sequence: 3, version: '9.0.0', product: 'com.example.other' }, [remote.key]),
  ],
  [
    'a manifest signed with an unknown key',
    'untrusted',
    () => manifest({ sequence: 3, version: '9.0.0', expires_at: '2099-01-01T00:00:00Z' }, [untrusted]),
  ],
  [
    'a manifest signed with an unknown key, with the key id of the trusted one',
    'untrusted',
    ({ remote: { key } }) =>
      manifest({ sequence: 3, version: '9.0.0' }, [{ ...untrusted, key_id: key.key_id }]),
  ],
  [
    'a manifest whose signed text is an object',
    'malformed',
    ({ remote }) => ({ ...remote.published, signed: {} }),
  ],
];

describe('after a valid manifest', () => {
  test.each(INVALID_MANIFESTS)(
    '%s is no update, with the reason %s, and is logged',
    async (_, reason, makeManifest) => {
      const { computer, checks } = await startWithOffer();
      computer.remote.published = makeManifest(computer);
      // The etag contains this number, so the service answers with 200 and not with 304.
      computer.remote.sequence += 1;
      computer.log.length = 0;
      await computer.advanceTime(2 * DAY);
      const noUpdate = { available: false, reason };
      expect(checks.slice(1)).toEqual([noUpdate, noUpdate]);
      const line =
        reason === 'equivocation' ? /^EQUIVOCATION: / : new RegExp(`^no update available: ${reason}$`);
      expect(computer.log).toEqual([expect.stringMatching(line), expect.stringMatching(line)]);
      expect(await computer.restart()).toEqual({ kind: 'not_activated' });
      expect(await computer.client.checkForUpdate()).toEqual(noUpdate);
    },
  );

  test('a valid manifest after an invalid one is offered', async () => {
    const { computer } = await startWithOffer();
    computer.remote.published = manifest({ sequence: 9, version: '9.0.0' }, [untrusted]);
    computer.remote.sequence = 9;
    expect((await computer.client.checkForUpdate()).available).toBe(false);
    computer.remote.publish({ version: '3.3.0' });
    expect(await computer.client.checkForUpdate()).toMatchObject({ offer: { version: '3.3.0' } });
  });

  test('the same manifest remains an update until it expires after 90 days', async () => {
    const { computer, checks } = await startWithOffer();
    await computer.advanceTime(89 * DAY);
    expect(new Set(checks.map(({ available }) => available))).toEqual(new Set([true]));
    await computer.advanceTime(3 * DAY);
    expect(checks.at(-1)).toEqual({ available: false, reason: 'expired' });
  });
});
