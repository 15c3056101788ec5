import { readdirSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { expect, jest, test } from '@jest/globals';
import { acceptQueueLength } from '../../src/http/limits/accept-queue-length.js';
import { listen } from '../support/listen.js';

/** More listening sockets than one read of the kernel's table returns. */
const LISTENERS = 40;

/** The paths of the open files of this process by descriptor, without the folder that lists them. */
function openFiles(): Map<string, string> {
  const pathOf = (descriptor: string) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`);
    } catch {
      return undefined;
    }
  };
  return new Map(
    readdirSync('/proc/self/fd').flatMap((descriptor) => {
      const path = pathOf(descriptor);
      return path === undefined ? [] : [[descriptor, path] as const];
    }),
  );
}

// Only Linux says how many connections wait.
const onLinux = process.platform === 'linux' ? test : test.skip;
onLinux('the length of the queue is known for each of many listening sockets', async () => {
  const ports = await Promise.all(Array.from({ length: LISTENERS }, () => listen(createServer())));
  expect(ports.map((port) => acceptQueueLength(port)())).toEqual(ports.map(() => 0));
});

onLinux('after the first reading, only the table that has the port is open', async () => {
  const port = await listen(createServer());
  const before = openFiles();
  const read = acceptQueueLength(port);
  const lengths = [read(), read()];
  const opened = [...openFiles()].filter(([descriptor]) => !before.has(descriptor)).map(([, path]) => path);
  expect([lengths, opened]).toEqual([[0, 0], [expect.stringMatching(/\/net\/tcp$/)]]);
});

onLinux('no address remains in the buffer', () => {
  const alloc = jest.spyOn(Buffer, 'alloc');
  const read = acceptQueueLength(1);
  const buffer = alloc.mock.results[0]!.value as Buffer;
  alloc.mockRestore();
  read();
  expect(buffer.every((byte) => byte === 0)).toBe(true);
});
