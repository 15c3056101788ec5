import { expect, test } from '@jest/globals';
import { importFromBench } from '../support/import-from-bench.js';

/** A page that just reaches its goals. */
const PORTAL_PAGE = {
  name: 'portal',
  size: { width: 320 },
  goal: { bytes: 30_000, bytesWithLogo: 30_720, ms: 1_500 },
  bytes: 30_000,
  logoBytes: 720,
  usableMs: 1_500,
  shift: 0.02,
};
/** The results of the move to a new machine, which just reach its goals. */
const MOVE = { clicks: 4, codes: 1, ms: 60_000 };
/** A page whose only goal is the layout shift. */
const PRIVACY_PAGE = {
  name: 'privacy',
  size: { width: 1280 },
  goal: {},
  bytes: 1e6,
  usableMs: 1e6,
  shift: 0,
};

test.each([
  ['none', [PORTAL_PAGE, PRIVACY_PAGE], MOVE, []],
  [
    'the size without the logo',
    [{ ...PORTAL_PAGE, bytes: 30_001, logoBytes: 0 }],
    MOVE,
    ['portal, 320 px wide'],
  ],
  ['the size with the logo', [{ ...PORTAL_PAGE, logoBytes: 721 }], MOVE, ['portal, 320 px wide']],
  ['the time', [{ ...PORTAL_PAGE, usableMs: 1_501 }], MOVE, ['portal, 320 px wide']],
  ['the layout shift', [{ ...PRIVACY_PAGE, shift: 0.021 }], MOVE, ['privacy, 1280 px wide']],
  ['the clicks of the move', [PORTAL_PAGE], { ...MOVE, clicks: 5 }, ['the move to a new machine']],
  ['the codes of the move', [PORTAL_PAGE], { ...MOVE, codes: 2 }, ['the move to a new machine']],
  ['the time of the move', [PORTAL_PAGE], { ...MOVE, ms: 60_001 }, ['the move to a new machine']],
])('the bench of the pages reports missed goals: %s', async (_what, rows, move, missed) => {
  const { findMissedGoals } = await importFromBench('pages/report.mjs');
  expect(findMissedGoals({ rows, move })).toEqual(missed);
});
