import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterThisFile } from './of-this-file.js';

/** Creates an empty folder, which is deleted at the end of the test file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'mooring-test-'));
  afterThisFile(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
