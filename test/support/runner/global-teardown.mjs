import { notePostgres } from './profile.mjs';

export default async function tearDown() {
  if (process.env.MOORING_PROFILE) notePostgres(globalThis.postgresPid);
  await globalThis.tearDownPostgres();
  // Fires only where something a test left open keeps the process running: a hanging run would say nothing at all.
  setTimeout(() => {
    process.stderr.write('A test left something open that keeps this process running.\n');
    process.exit(1);
  }, 120_000).unref();
}
