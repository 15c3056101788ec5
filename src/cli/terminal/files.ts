import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeNewFile } from '../../core/new-file.js';
import { CommandError, UsageError } from './output.js';

/** The folder of package.json. */
const PACKAGE = resolve(fileURLToPath(new URL('../../..', import.meta.url)));

/**
 * The folder of the caller is not always the working directory: npm runs a command in the package's folder and stores that of the
 * caller in INIT_CWD. If the user of the service cannot enter that folder, deploy/mooring changes to /, and stores the folder in
 * MOORING_CWD.
 * @throws UsageError for an empty path, which would mean the folder of the caller itself
 */
export function resolveFromCallerFolder(file: string): string {
  if (file === '') throw new UsageError('The name of a file or folder must not be empty.');
  const { MOORING_CWD, INIT_CWD } = process.env;
  const base = MOORING_CWD ?? (process.cwd() === PACKAGE ? INIT_CWD : undefined);
  return resolve(base ?? '.', file);
}

/** Refuses to overwrite a file. @throws CommandError if the file exists */
export function refuseExisting(file: string): void {
  if (existsSync(file)) throw writeError(file, { code: 'EEXIST' });
}

/** Writes a new file completely, or leaves none. @throws CommandError if the file exists or cannot be written */
export async function writeNew(file: string, data: string | Buffer, mode?: number): Promise<void> {
  await writeNewFile(file, data, mode).catch((error: unknown) => {
    throw writeError(file, error);
  });
}

/** Converts an error on writing a file, or creating a folder, to `CommandError`. */
export function writeError(file: string, error: unknown): CommandError {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EEXIST') return new CommandError(`${file} exists already, and is never overwritten.`);
  if (code === 'ENOENT')
    return new CommandError(`${file} cannot be written, because its folder does not exist.`);
  return fileError(file, error);
}

/** Awaits work that reads a file. @throws CommandError if it fails */
export async function explainFileError<T>(file: string, work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    throw fileError(file, error);
  });
}

/** Converts an error on reading or writing a file to `CommandError`. */
function fileError(file: string, error: unknown): CommandError {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return new CommandError(`${file} does not exist.`);
  // In an installation, root calls the command, and the user of the service runs it.
  if (code === 'EACCES')
    return new CommandError(`${file} cannot be used: the user ${userName()} has no permission (EACCES).`);
  return new CommandError(`${file} cannot be used (${code ?? 'unknown'}).`);
}

/** The name of the user that runs the command; its number if the system has no name for it, as in a container. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.());
  }
}
