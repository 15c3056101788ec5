import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import type { AuditContext } from '../../audit/audit.js';
import { ClocksDiffer } from '../../database/database-clock.js';
import { Problem } from '../../http/problems/problem.js';

/** What a command will not do: one sentence, exit code 1. */
export class Refused extends Error {}

/** A command called in a way that it cannot be: one sentence, exit code 2. */
export class UsageError extends Error {}

const PACKAGE = resolve(fileURLToPath(new URL('../../..', import.meta.url)));

/** Tells the person at the terminal a sentence; standard output is the command's answer alone. */
export function printMessage(sentence: string): void {
  process.stderr.write(`${sentence}\n`);
}

/** Prints a command's answer: with --json the value, else the text for a person. */
export function print(command: Command, value: unknown, text: string): void {
  process.stdout.write(`${wantsJson(command) ? JSON.stringify(value) : text}\n`);
}

export function wantsJson(command: Command): boolean {
  return command.optsWithGlobals<{ json?: true }>().json ?? false;
}

/** Who acts, as the audit trail keeps it. */
export function actOf(command: Command, reason: string | null = null): AuditContext {
  return { actor: command.optsWithGlobals<{ as?: string }>().as ?? 'cli', reason };
}

/** A service's `not_found` in the words of this command. */
export async function orNotFound<T>(work: Promise<T>, sentence: string): Promise<T> {
  return work.catch((error: unknown) => {
    throw error instanceof Problem && error.code === 'not_found' ? new Refused(sentence) : error;
  });
}

/** What is not done by a clock that may be wrong, in a sentence. */
export async function orClocksDiffer<T>(work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    throw error instanceof ClocksDiffer ? new Refused(error.message) : error;
  });
}

/** Columns of a text, as wide as they need to be. */
export function aligned(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]!.length)));
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** A path as the caller meant it: npm runs us in the package's own folder and says where it was called. */
export function callersPath(file: string): string {
  const base = process.cwd() === PACKAGE ? process.env['INIT_CWD'] : undefined;
  return resolve(base ?? '.', file);
}

/** One sentence for what the file system says about a file. */
export function fileRefusal(file: string, error: unknown): Refused {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EEXIST') return new Refused(`${file} exists already, and is never overwritten.`);
  if (code === 'ENOENT') return new Refused(`${file} does not exist, or its folder does not.`);
  return new Refused(`${file} cannot be used (${code ?? 'unknown'}).`);
}
