import type { Command } from 'commander';
import type { AuditContext } from '../../audit/audit.js';
import { escapeInvisible } from '../../core/text.js';
import { Problem } from '../../http/problems/problem.js';

/** The error of a command that failed or was refused. Its message is one to three sentences; the exit code is 1. */
export class CommandError extends Error {}

/** The error of a command that was called with wrong arguments. Its message is one sentence; the exit code is 2. */
export class UsageError extends Error {}

/** Prints a text to standard error, because standard output contains only the result of the command. */
export function printMessage(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Prints the result of a command: the value as JSON with --json, otherwise the text. */
export function print(command: Command, value: unknown, text: string): void {
  process.stdout.write(`${wantsJson(command) ? JSON.stringify(value) : text}\n`);
}

/** Gives the member `id` the name that says what it identifies, as in all output (docs/contract.md#command-line). */
export function withIdName<const N extends string, T extends { readonly id: string }>(
  name: N,
  { id, ...rest }: T,
): Record<`${N}_id`, string> & Omit<T, 'id'> {
  return { [`${name}_id`]: id, ...rest } as Record<`${N}_id`, string> & Omit<T, 'id'>;
}

/** Whether --json is given. */
export function wantsJson(command: Command): boolean {
  return command.optsWithGlobals<{ json?: true }>().json ?? false;
}

/** Returns the actor (the name given with --as, or `cli`) and the reason that the audit trail records. */
export function auditContextOf(command: Command, reason: string | null = null): AuditContext {
  return { actor: command.optsWithGlobals<{ as?: string }>().as ?? 'cli', reason };
}

/** Awaits the work. If it throws the problem `not_found`, throws `CommandError` with the sentence of this command instead. */
export async function explainNotFound<T>(work: Promise<T>, sentence: string): Promise<T> {
  return work.catch((error: unknown) => {
    throw error instanceof Problem && error.code === 'not_found' ? new CommandError(sentence) : error;
  });
}

/** Renders rows as a table: pads the cells of each column to the same width. All rows have the same number of cells. */
export function aligned(texts: readonly (readonly string[])[]): string {
  const rows = texts.map((row) => row.map(escapeInvisible));
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
