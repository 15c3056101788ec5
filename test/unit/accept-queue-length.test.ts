import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { expect, jest, test } from '@jest/globals';
import { acceptQueueLength } from '../../src/http/limits/accept-queue-length.js';

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
  const servers = Array.from({ length: LISTENERS }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const lengths = servers.map((server) => acceptQueueLength((server.address() as AddressInfo).port)());
  for (const server of servers) server.close();
  expect(lengths).toEqual(servers.map(() => 0));
});

onLinux('after the first reading, only the table that has the port is open', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const before = openFiles();
  const read = acceptQueueLength((server.address() as AddressInfo).port);
  const lengths = [read(), read()];
  const opened = [...openFiles()].filter(([descriptor]) => !before.has(descriptor)).map(([, path]) => path);
  server.close();
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
