// A PostgreSQL on a disk that can be filled; test/support/databases/small-disk-postgres.ts starts it, in a mount namespace where the system lets it.
// Commands from its parent: `start`, `fill`, `free`; each is answered once it is done.
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
// The build, not the sources: nothing transforms what this file imports.
import { startEmbeddedPostgres } from '../../../dist/database/embedded/embedded-postgres.js';

const directory = process.argv[2];
const ballast = join(directory, 'ballast');
let server;

const does = {
  async start() {
    await server?.stop();
    server = await startEmbeddedPostgres(directory, { durable: false });
    return server.url;
  },
  fill() {
    const file = openSync(ballast, 'a');
    // Down to the last page: in smaller and smaller parts, until nothing fits any more.
    for (let size = 1024 * 1024; size >= 4096;) {
      try {
        writeSync(file, Buffer.alloc(size, 1));
      } catch (error) {
        if (error.code !== 'ENOSPC') throw error;
        size /= 2;
      }
    }
    closeSync(file);
  },
  free: () => rmSync(ballast, { force: true }),
};

process.on('message', async (what) => {
  try {
    process.send({ done: (await does[what]()) ?? true });
  } catch (error) {
    process.send({ failed: error.message });
  }
});
process.on('disconnect', async () => {
  await server?.stop();
  process.exit();
});
process.send({ done: true });
