import { writePostgresProfile } from './profile.mjs';

export default async function tearDown() {
  if (process.env.MOORING_PROFILE) writePostgresProfile(globalThis.postgresPid);
  await globalThis.tearDownPostgres();
  // The timer fires only if a test left something open that keeps the process running. Without it the run would hang silently.
  setTimeout(() => {
    process.stderr.write('A test left something open that keeps this process running.\n');
    process.exit(1);
  }, 120_000).unref();
}
