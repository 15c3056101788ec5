import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterThisFile } from '../support/of-this-file.js';

/** Creates an empty folder for a test; it is deleted at the end of the test file. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'mooring-client-'));
  afterThisFile(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
