import { afterAll } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const made: string[] = [];

/** An empty folder for a test, removed with all in it when its file is done. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'mooring-client-'));
  made.push(folder);
  return folder;
}

afterAll(() => Promise.all(made.map((folder) => rm(folder, { recursive: true, force: true }))));
