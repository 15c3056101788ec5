// A PostgreSQL on a disk that can be filled; test/support/databases/small-disk-postgres.ts starts it, in a mount namespace if the system allows one.
// Its parent sends the commands `start`, `fill` and `free`, and gets a reply when each is done.
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
// Imports the build, because nothing compiles the sources for this process.
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
    // Fills the disk to the last page: writes smaller and smaller parts until none fits.
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
