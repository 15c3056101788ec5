import { expect, test } from '@jest/globals';
import { checkClock } from '../../src/cli/doctor/clock-check.js';
import { checkFreeSpace } from '../../src/cli/doctor/file-checks.js';
import { Report } from '../../src/cli/doctor/report.js';

/** Runs a check of `mooring doctor`. @returns the status and the text of its only finding */
async function findingOf(check: (report: Report) => string | void): Promise<[status: string, text: string]> {
  const report = new Report();
  await report.run('check', () => check(report));
  expect(report.findings).toHaveLength(1);
  const { status, text } = report.findings[0]!;
  return [status, text];
}

test.each([
  [1024, 'ok', '.'],
  [1023, 'warn', ': delete files until it has at least 1024 MiB.'],
  [100, 'warn', ': delete files until it has at least 1024 MiB.'],
  [99, 'fail', ': delete files until it has at least 1024 MiB.'],
])('a disk of DATA_DIR with %d MiB free is %s', async (free, status, end) => {
  const text = `The disk of DATA_DIR has ${free} MiB free${end}`;
  expect(await findingOf((report) => checkFreeSpace(free, report))).toEqual([status, text]);
});

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;

test.each<[what: string, databaseMs: number, waitMs: number, status: string, seconds: number]>([
  ['agrees, after a slow answer', 90 * SECOND_MS, 90 * SECOND_MS, 'ok', 0],
  ['agrees, before a slow answer', 0, 90 * SECOND_MS, 'ok', 0],
  ['is ahead by less than half a minute', 30 * SECOND_MS, SECOND_MS, 'ok', 29],
  ['is ahead by half a minute', 31 * SECOND_MS, SECOND_MS, 'warn', 30],
  ['is behind by half a minute', -30 * SECOND_MS, SECOND_MS, 'warn', 30],
  ['is ahead by an hour', HOUR_MS + SECOND_MS, SECOND_MS, 'warn', 3_600],
  ['is ahead by more than an hour', HOUR_MS + 2 * SECOND_MS, SECOND_MS, 'fail', 3_601],
  ['is behind by more than an hour', -HOUR_MS - SECOND_MS, SECOND_MS, 'fail', 3_601],
])('a clock of the database that %s', async (_what, databaseMs, waitMs, status, seconds) => {
  const at = (milliseconds: number) => new Date(Date.UTC(2027, 0, 4) + milliseconds);
  const read = { asked: at(0), time: at(databaseMs), answered: at(waitMs) };
  const end = status === 'ok' ? '.' : ': correct the wrong one (timedatectl).';
  const text = `The clocks of this machine and of the database differ by ${seconds} seconds${end}`;
  expect(await findingOf((report) => checkClock(read, report))).toEqual([status, text]);
});
