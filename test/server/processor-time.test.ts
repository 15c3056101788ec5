import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { expect, jest, test } from '@jest/globals';
import { importFromBench } from '../support/import-from-bench.js';

const { readServerTime } = await importFromBench('load/processes.mjs');

/** A line of `/proc/PID/stat` of a process that used 7 ticks of 10 ms, and whose ended children used this many. */
const statLine = (childrenTicks: number) => `1 (a) b) S 1${' 0'.repeat(9)} 3 4 ${childrenTicks} 0 20\n`;

test('the processor time of a server includes that of a backend that ends while it is read', () => {
  // The backend is counted as ended only after the first read, and is not in the list of children any more.
  const statLines = [statLine(0), statLine(50)];
  const read = jest.spyOn(fs, 'readFileSync').mockImplementation((path) => {
    if (path === '/proc/7/task/7/children') return '';
    if (path === '/proc/7/stat') return statLines.length > 1 ? statLines.shift()! : statLines[0]!;
    throw new Error(`${String(path)} is not read`);
  });
  syncBuiltinESMExports();
  try {
    expect(readServerTime(7)).toEqual({ total: 570, replay: 0 });
  } finally {
    read.mockRestore();
    syncBuiltinESMExports();
  }
});
