import { text } from 'node:stream/consumers';
import { askHidden } from './passphrase.js';
import { UsageError } from './output.js';

/**
 * Returns the value of an argument that can be secret or personal. Every user of the machine can read the arguments of a command,
 * and the shell stores them. Therefore the argument `-` reads a line from standard input, and without an argument the terminal
 * asks for the value. If standard input is a terminal, `-` asks too.
 * @throws UsageError if the input is empty, not UTF-8 or more than one line, or if the argument is missing and there is no terminal
 * @param name the name of the value in prompts and messages @param ask asks the terminal
 */
export async function argumentOrInput(
  argument: string | undefined,
  name: string,
  ask: (prompt: string) => Promise<string> = askHidden,
): Promise<string> {
  if (argument !== undefined && argument !== '-') return argument;
  const { stdin } = process;
  if (!stdin.isTTY && argument === undefined)
    throw new UsageError(`${name}: give it as an argument, or - to read it from standard input.`);
  const input = stdin.isTTY ? await ask(`${name}: `) : await text(stdin);
  const line = input.trim();
  if (line === '') throw new UsageError(`${name}: no value was given.`);
  // A file in UTF-16, as Windows can write it, has NUL characters, which the database would refuse.
  if (/[\0\uFFFD]/.test(line)) throw new UsageError(`${name}: standard input is not text in UTF-8.`);
  if (/[\r\n]/.test(line)) throw new UsageError(`${name}: standard input has more than one line.`);
  return line;
}
