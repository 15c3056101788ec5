import { afterAll, expect, test } from '@jest/globals';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { BufferedOutput } from '../../src/core/buffered-output.js';

const directory = mkdtempSync(join(tmpdir(), 'mooring-output-'));
const path = join(directory, 'lines');
const fd = openSync(path, 'a+');
const exitListeners = process.listeners('exit');
afterAll(() => {
  for (const listener of process.listeners('exit'))
    if (!exitListeners.includes(listener)) process.removeListener('exit', listener);
  closeSync(fd);
  rmSync(directory, { recursive: true });
});

test('all lines are written once, whole and in order, also long lines and lines that arrive during a write', async () => {
  const output = new BufferedOutput(fd);
  // Characters of one to four bytes, in lines that are shorter and longer than what is written at once.
  const lines = Array.from({ length: 3_000 }, (_, index) => {
    const text = ['a', 'é', '€', '🙂'][index % 4]!.repeat(index % 500 === 499 ? 60_000 : index % 300);
    return `${index} ${text}\n`;
  });
  for (const [index, line] of lines.entries()) {
    output.write(line);
    if (index % 10 === 9) output.flush();
    if (index % 30 === 29) await nextTurn();
  }
  await output.waitUntilWritten();
  // The comparison of the whole texts would print megabytes if it failed.
  const written = readFileSync(path, 'utf8').split(/(?<=\n)/);
  expect(written.findIndex((line, index) => line !== lines[index])).toBe(-1);
  expect(written).toHaveLength(lines.length);
});
