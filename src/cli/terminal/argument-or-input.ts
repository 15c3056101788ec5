import { text } from 'node:stream/consumers';
import { askHidden } from './passphrase.js';
import { UsageError } from './output.js';

/**
 * The value of an argument that may be a secret. Every user of the machine sees the arguments of a command, and the shell
 * keeps them; so `-` reads a line from standard input, and no argument asks the terminal, which shows nothing of it.
 * @param name what is asked for
 */
export async function argumentOrInput(argument: string | undefined, name: string): Promise<string> {
  if (argument !== undefined && argument !== '-') return argument;
  const { stdin } = process;
  if (!stdin.isTTY && argument === undefined)
    throw new UsageError(`${name}: give it as an argument, or - to read it from standard input.`);
  const given = stdin.isTTY ? await askHidden(`${name}: `) : await text(stdin);
  const line = given.trim();
  if (line === '') throw new UsageError(`${name}: standard input is empty.`);
  if (/[\r\n]/.test(line)) throw new UsageError(`${name}: standard input has more than one line.`);
  return line;
}
