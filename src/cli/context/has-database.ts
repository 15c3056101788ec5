import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../core/config.js';

/** The settings that `publisherConfig` (signing-keys.ts) reads only in a command line with a database. */
export const DATABASE_SETTINGS: readonly string[] = ['DATABASE_URL'];

/**
 * Whether there is a database to read: the one of DATABASE_URL, or an embedded one that was created. Without this check, signing
 * would create a database on a publisher's machine. In the command line for publishers, without-database.ts replaces this file.
 */
export function hasDatabase({ databaseUrl, dataDir }: Config): boolean {
  return databaseUrl !== undefined || existsSync(join(dataDir, 'postgres', 'PG_VERSION'));
}
