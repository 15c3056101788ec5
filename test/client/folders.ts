import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterThisFile } from '../support/of-this-file.js';

/** An empty folder for a test, removed with all in it when its file is done. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'mooring-client-'));
  afterThisFile(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
