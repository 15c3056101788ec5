import { expect, test } from '@jest/globals';
import { importFromBench } from '../support/import-from-bench.js';

const OPTIONS = { seconds: 4, seed: 1, factors: [1], clients: 2, only: ['reconnection'] };
const COUNTS = { right: 0, refused: 0, unanswered: 0, wrong: 0, wrong_stop: 0 };

test.each([
  [
    'none',
    [],
    0,
    [
      '0 of 2 clients were answered. At the capacity of 1/s',
      'the bench ended before all others were answered: missed.',
      '0 clients had no answer',
    ],
  ],
  [
    'one of two',
    [100],
    0,
    [
      '1 of 2 clients were answered, half of them within 100 ms, 99 % within 100 ms, and the last after 100 ms.',
      'missed.',
    ],
  ],
  [
    'one of two, and the other returns later',
    [1_000],
    1,
    ['1 of 2 clients were answered', 'and 1.00 times was measured: reached.', '1 clients had no answer'],
  ],
  ['all', [100, 2_000], 0, ['the last after 2.0 s.', 'and 1.00 times was measured: reached.']],
])(
  'the results of the overload bench say how many clients were answered: %s',
  async (_what, answeredAfterMs, returningLater, texts) => {
    const { report } = await importFromBench('overload/report.mjs');
    const reconnection = { clients: 2, capacity: 1, answeredAfterMs, returningLater, counts: COUNTS };
    const page = report(
      { isPinned: true, points: [], reconnection, version: 'PostgreSQL', capacityConnections: 64 },
      OPTIONS,
    ) as string;
    expect(page).not.toMatch(/NaN|undefined/);
    for (const text of texts) expect(page).toContain(text);
  },
);
