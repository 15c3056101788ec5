import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { createProgram } from '../../src/cli/program.js';
import { completionContexts } from '../../src/cli/completion/words.js';
import { Terminal } from '../support/processes/cli-harness.js';

/*
 * The script for bash is run, because every machine that runs `.ci/run` has bash. Not every machine has zsh and fish, so their
 * scripts are only compared with the program.
 */

const scripts: Record<string, string> = {};
const terminal = new Terminal({});
const contexts = completionContexts(await createProgram(['help']));
for (const shell of ['bash', 'zsh', 'fish']) {
  const { code, stdout } = await terminal.run(['completion', shell]);
  expect(code).toBe(0);
  scripts[shell] = stdout;
}
writeFileSync(terminal.file('mooring.bash'), scripts['bash']!);
mkdirSync(terminal.file('a folder'));
writeFileSync(terminal.file('App.dmg'), '');

/** Lets bash complete the last word of each command, all in one process. @returns what it offers for each */
function completeEach(commands: readonly (readonly string[])[]): string[][] {
  const program = `
    source mooring.bash
    while (($# > 0)); do
      COMP_WORDS=("\${@:2:$1}") COMP_CWORD=$(($1 - 1)) COMPREPLY=()
      shift $(($1 + 1))
      _mooring
      printf '%s\\n' "\${COMPREPLY[@]}" END
    done`;
  // Each command follows the number of its words.
  const words = commands.flatMap((command) => [String(command.length + 1), 'mooring', ...command]);
  const output = execFileSync('bash', ['--norc', '-c', program, 'bash', ...words], {
    cwd: terminal.dir,
    encoding: 'utf8',
  });
  const offers = output.split('END\n').slice(0, -1);
  return offers.map((offer) => offer.split('\n').filter((line) => line !== ''));
}

const complete = (...words: string[]): string[] => completeEach([words])[0]!;

describe('the script for bash', () => {
  test('offers the commands at each depth', () => {
    const groups = ['license', 'purchase', 'activation', 'staff', 'retention', 'erasure', 'manifest', 'keys'];
    expect(complete('')).toEqual(expect.arrayContaining(['init', 'status', 'help', 'completion', ...groups]));
    expect(complete('man')).toEqual(['manifest']);
    expect(complete('manifest', 'ref')).toEqual(['refresh']);
    expect(complete('license', 'se')).toEqual(['set', 'send-key']);
    expect(complete('nonsense', 'x')).toEqual([]);
  });

  test('offers the commands after help too, at each depth', () => {
    expect(complete('help', 'man')).toEqual(['manifest']);
    expect(complete('help', 'manifest', 're')).toEqual(['refresh']);
    expect(complete('help', 'manifest', 'refresh', '')).toEqual([]);
    expect(complete('help', 'init', '')).toEqual([]);
  });

  test('offers every option of every command', () => {
    const offers = completeEach(contexts.map(({ path }) => [...path.split(' ').slice(1), '--']));
    expect(offers).toHaveLength(contexts.length);
    for (const [index, { path, options }] of contexts.entries()) {
      const expected = options.map(({ text }) => text);
      expect({ path, found: offers[index]!.toSorted() }).toEqual({ path, found: expected.toSorted() });
    }
  });

  test('offers the values of an option or argument, and files', () => {
    expect(complete('staff', 'add', 'ada@example.com', '--role', '')).toEqual(['support', 'admin']);
    expect(complete('license', 'set', 'x', '--status', 're')).toEqual(['revoked']);
    expect(complete('completion', '')).toEqual(expect.arrayContaining(['bash', 'zsh', 'fish']));
    expect(complete('manifest', 'sign', '--dmg', '')).toEqual(
      expect.arrayContaining(['App.dmg', 'a folder']),
    );
    expect(complete('manifest', 'publish', 'Ap')).toEqual(['App.dmg']);
    expect(complete('license', 'issue', '--email', '')).toEqual([]);
  });

  test('does not take the value of an option for a command', () => {
    expect(complete('--as', 'manifest', 'license', 'rek')).toEqual(['rekey']);
    expect(complete('manifest', 'sign', '--out', 'verify', '--dm')).toEqual(['--dmg']);
  });
});

test.each(['bash', 'zsh', 'fish'])(
  'the script for %s has every command and option of the program',
  (shell) => {
    const script = scripts[shell]!;
    expect(script).toContain(' help manifest');
    for (const { commands, options } of contexts) {
      for (const { text } of commands) expect(script).toMatch(new RegExp(`['" ]${text}\\b`));
      for (const { text } of options)
        expect(script).toContain(shell === 'fish' ? `-l ${text.slice(2)} ` : text);
    }
  },
);

test.each([
  [
    "command-argument value 'tcsh' is invalid for argument 'shell'. Allowed choices are bash, zsh, fish.",
    ['tcsh'],
  ],
  ["Missing required argument 'shell'.", []],
])('`completion` refuses its arguments with exit code 2: %s', async (sentence, args) => {
  expect(await terminal.run(['completion', ...args])).toMatchObject({
    code: 2,
    stdout: '',
    stderr: `${sentence}\n`,
  });
});
