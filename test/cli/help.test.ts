import { describe, expect, test } from '@jest/globals';
import type { Command } from 'commander';
import { createProgram } from '../../src/cli/program.js';
import { Terminal } from '../support/processes/cli-harness.js';

/** A command without subcommands: its names, such as `manifest sign`, and the text that `--help` prints. */
interface Leaf {
  readonly path: string;
  readonly help: string;
}

const leavesOf = (command: Command, path = ''): Leaf[] =>
  command.commands.flatMap((child) => {
    const name = `${path} ${child.name()}`.trim();
    return child.commands.length > 0 ? leavesOf(child, name) : [{ path: name, help: helpOf(child) }];
  });

function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({ writeOut: (part) => void (text += part) });
  command.outputHelp();
  return text;
}

const leaves = leavesOf(await createProgram(['help']));

const examplesIn = ({ help }: Leaf) => {
  const [, lines = ''] = /\nExamples?:\n((?: {2}mooring .+\n)+)$/.exec(help) ?? [];
  return [...lines.matchAll(/^ {2}mooring (.+)$/gm)].map(([, example]) => example!);
};

/** Splits an example as a shell does; the examples quote with single quotes alone. */
const wordsOf = (example: string) =>
  [...example.matchAll(/'([^']*)'|\S+/g)].map(([word, quoted]) => quoted ?? word);

/** Parses arguments without running the command. @returns the names of the command that would run */
async function parse(args: readonly string[]): Promise<string> {
  const program = await createProgram(['help']);
  let ran = '';
  const replaceActions = (command: Command, path: string): void => {
    command.action(() => void (ran = path)).configureOutput({ outputError: () => undefined });
    for (const child of command.commands) replaceActions(child, `${path} ${child.name()}`.trim());
  };
  for (const child of program.commands) replaceActions(child, child.name());
  await program.parseAsync(args, { from: 'user' });
  return ran;
}

test('the help of every command ends with examples that the program accepts', async () => {
  expect(leaves.length).toBeGreaterThan(25);
  for (const leaf of leaves) {
    const examples = examplesIn(leaf);
    expect({ path: leaf.path, count: examples.length }).not.toEqual({ path: leaf.path, count: 0 });
    for (const example of examples) {
      const ran = await parse(wordsOf(example)).catch((error: Error) => error.message);
      expect({ example, ran }).toEqual({ example, ran: leaf.path });
    }
  }
});

test('an example with an unknown option or a wrong value would be found', async () => {
  await expect(parse(['license', 'issue', '--email', 'ada@example.com', '--gone'])).rejects.toThrow(
    'unknown option',
  );
  await expect(parse(['staff', 'add', 'ada@example.com', '--role', 'owner'])).rejects.toThrow(
    'must be one of',
  );
});

describe('help', () => {
  const terminal = new Terminal({});
  const run = (...args: string[]) => terminal.run(args);

  test('prints the same as --help, for a command at any depth', async () => {
    for (const path of [[], ['manifest'], ['manifest', 'sign'], ['status'], ['license', 'show']]) {
      const help = await run('help', ...path);
      expect(help).toMatchObject({ code: 0, stderr: '' });
      expect(help.stdout).toBe((await run(...path, '--help')).stdout);
      expect(help.stdout).toContain(`Usage: mooring${path.map((name) => ` ${name}`).join('')} [`);
    }
  });

  test.each([
    ["Unknown command 'nonsense'.", ['nonsense']],
    ["Unknown command 'sing'.", ['manifest', 'sing']],
    ["Unknown command 'x'.", ['manifest', 'sign', 'x']],
  ])('refuses with exit code 2: %s', async (sentence, names) => {
    expect(await run('help', ...names)).toMatchObject({ code: 2, stdout: '', stderr: `${sentence}\n` });
  });
});
