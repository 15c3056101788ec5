import { CommandError } from '../terminal/output.js';

/** Takes the place of the list in has-database.ts: the command line for publishers has no setting for a database. */
export const DATABASE_SETTINGS: readonly string[] = [];

/** The command line for publishers reads no database, whatever the settings say. */
export const hasDatabase = () => false;

/**
 * Takes the place of `withDatabase` in the command line for publishers (scripts/package-cli.mjs), which contains no database code.
 * @throws CommandError always
 */
export function withDatabase(): Promise<never> {
  return Promise.reject(
    new CommandError(
      'This command line is for publishers and opens no database: set STAFF_TOKEN to publish over https, or use mooring on the server.',
    ),
  );
}
