import { afterAll, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { BufferedOutput } from '../../src/core/buffered-output.js';
import { temporaryFolder } from '../support/folders.js';

const directory = temporaryFolder();
const path = join(directory, 'lines');
const fd = openSync(path, 'a+');
const exitListeners = process.listeners('exit');
afterAll(() => {
  for (const listener of process.listeners('exit'))
    if (!exitListeners.includes(listener)) process.removeListener('exit', listener);
  closeSync(fd);
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

test('all lines arrive through a pipe that was full, whole and in order', async () => {
  const pipe = join(directory, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
  try {
    const output = new BufferedOutput(writer);
    // Several times as much as a pipe takes without a reader.
    const text = Array.from({ length: 5_000 }, (_, index) => `${index} ${'€'.repeat(index % 50)}\n`).join('');
    for (const line of text.split(/(?<=\n)/)) output.write(line);
    const received: Buffer[] = [];
    while (Buffer.concat(received).length < Buffer.byteLength(text)) {
      await nextTurn();
      received.push(readAvailable(reader));
    }
    expect(Buffer.concat(received).equals(Buffer.from(text))).toBe(true);
  } finally {
    closeSync(writer);
    closeSync(reader);
  }
});

/** Reads at most as much as a pipe holds; nothing if it is empty. */
function readAvailable(fd: number): Buffer {
  const buffer = Buffer.alloc(64 * 1024);
  try {
    return buffer.subarray(0, readSync(fd, buffer));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return Buffer.alloc(0);
    throw error;
  }
}
