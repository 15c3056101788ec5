import { expect, test } from '@jest/globals';
import { compareBuilds } from '../../src/telemetry/build-version.js';

test('builds are ordered by number, a pre-release before its release, and builds of a release after it', () => {
  // Builds of one release in different notations, such as ` (451)` and `+9`, are ordered by their notation.
  const ordered = [
    '3.2',
    '3.9.1',
    '3.10.0-rc.1+451',
    '3.10.0b2',
    '3.10.0',
    '3.10.0 (451)',
    '3.10.0+9',
    '3.10.0+10',
    '10.0',
  ];
  const shuffled = [...ordered.slice(4), ...ordered.slice(0, 4).toReversed()];
  expect(shuffled.toSorted(compareBuilds)).toEqual(ordered);
});

test.each([
  ['3.2', '3.2.0', 0],
  ['3.2.0', '3.2.0', 0],
  ['3.2.0+451', '3.2.0', 1],
  ['3.2.0 (451)', '3.2.0', 1],
  ['3.2.0(451)', '3.2.0', 1],
  ['3.2.0-rc.1', '3.2.0', -1],
  ['3.2.0b1', '3.2.0', -1],
  ['3.2.0.dev0', '3.2.0', -1],
  ['3.1.9+451', '3.2.0', -1],
])('%s compared with %s is %d', (a, b, sign) => {
  // `+ 0` and `0 - sign` avoid -0, which toEqual distinguishes from 0.
  expect([Math.sign(compareBuilds(a, b)), Math.sign(compareBuilds(b, a)) + 0]).toEqual([sign, 0 - sign]);
});
