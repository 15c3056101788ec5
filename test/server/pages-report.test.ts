import { expect, test } from '@jest/globals';
import { importFromBench } from '../support/import-from-bench.js';

const PAGE = {
  name: 'portal',
  size: { width: 320 },
  goal: { bytes: 30_000, bytesWithLogo: 30_720, ms: 1_500 },
  bytes: 30_000,
  logoBytes: 720,
  usableMs: 1_500,
  shift: 0.02,
};
const MOVE = { clicks: 4, codes: 1, ms: 60_000 };
const WITHOUT_GOALS = {
  name: 'privacy',
  size: { width: 1280 },
  goal: {},
  bytes: 1e6,
  usableMs: 1e6,
  shift: 0,
};

test.each([
  ['no goal', [PAGE, WITHOUT_GOALS], MOVE, []],
  ['the size of a page', [{ ...PAGE, bytes: 30_001, logoBytes: 0 }], MOVE, ['portal, 320 px wide']],
  ['the size of a page with its logo', [{ ...PAGE, logoBytes: 721 }], MOVE, ['portal, 320 px wide']],
  ['the time of a page', [{ ...PAGE, usableMs: 1_501 }], MOVE, ['portal, 320 px wide']],
  [
    'the layout shift of a page without goals',
    [{ ...WITHOUT_GOALS, shift: 0.021 }],
    MOVE,
    ['privacy, 1280 px wide'],
  ],
  ['the clicks of the move', [PAGE], { ...MOVE, clicks: 5 }, ['the move to a new machine']],
  ['the time of the move', [PAGE], { ...MOVE, ms: 60_001 }, ['the move to a new machine']],
])('the bench of the pages finds that %s is missed', async (_what, rows, move, missed) => {
  const { findMissedGoals } = await importFromBench('pages/report.mjs');
  expect(findMissedGoals({ rows, move })).toEqual(missed);
});
