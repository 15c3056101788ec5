// A PostgreSQL on a disk that can be filled. test/faults/small-disk-postgres.ts starts this process, in a mount
// namespace if the system allows one, sends it the commands `start`, `fill` and `free`, and gets a reply when each is done.
import { chmodSync, closeSync, cpSync, existsSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
// The build is imported, because nothing compiles the sources for this process.
import { startEmbeddedPostgres } from '../../dist/database/embedded/embedded-postgres.js';

const directory = process.argv[2];
const ballast = join(directory, 'ballast');
const cluster = join(directory, 'postgres');
let server;

const commands = {
  async start() {
    await server?.stop();
    if (!existsSync(cluster)) {
      cpSync(process.env.MOORING_TEST_CLUSTER, cluster, { recursive: true });
      chmodSync(cluster, 0o700);
    }
    server = await startEmbeddedPostgres(directory, { durable: false });
    return server.url;
  },
  fill() {
    const file = openSync(ballast, 'a');
    // The parts become smaller until not even a page fits, so that the disk is completely full.
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

process.on('message', async (command) => {
  try {
    process.send({ done: (await commands[command]()) ?? true });
  } catch (error) {
    process.send({ failed: error.message });
  }
});
process.on('disconnect', async () => {
  await server?.stop();
  process.exit();
});
process.send({ done: true });
