import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { CLI, Terminal } from '../support/processes/cli-harness.js';
import { createDatabase } from '../support/harness.js';

const database = await createDatabase();
const terminal = new Terminal({ DATABASE_URL: database.url });
writeFileSync(terminal.file('old.csv'), 'Serial,Contact\nshort,nobody\nAAAA-BBBB-CCCC,ada@example.com\n');
const IMPORT = ['license', 'import', 'old.csv', '--map', 'Serial=previous_key', '--map', 'Contact=email'];

/** Runs a command of which one output has no reader. @returns its exit code, and what it wrote to the other output */
async function runClosed(closed: 'stdout' | 'stderr', args: readonly string[]) {
  const child = terminal.start(CLI, args);
  child[closed]!.destroy();
  const other = closed === 'stdout' ? child.stderr! : child.stdout!;
  const [output, [code]] = await Promise.all([text(other), once(child, 'close')]);
  return { code, output };
}

test.each([
  ['a list', 'stdout', ['license', 'list'], ''],
  ['its checks', 'stdout', ['doctor'], ''],
  [
    'the refused rows of an import',
    'stdout',
    [...IMPORT, '--refused', '-'],
    expect.stringMatching(/^line 2: /),
  ],
  ['the reasons of an import', 'stderr', [...IMPORT, '--refused', 'refused.csv'], ''],
] as const)(
  'a command that cannot write %s, because the reader of %s has ended, does not end with 0',
  async (_what, closed, args, output) => {
    expect(await runClosed(closed, args)).toEqual({ code: 128 + constants.signals.SIGPIPE, output });
  },
);
