import { askVisible } from './passphrase.js';
import { CommandError, printMessage } from './output.js';

/** Something unusual that a command does only if the user confirms it. */
export interface Unusual {
  /** What is unusual, in one sentence. */
  readonly sentence: string;
  /** What the user types at a terminal to confirm it, such as the version. */
  readonly name: string;
  /** The option that confirms it without a terminal. */
  readonly option: string;
}

/**
 * Asks the user at the terminal to confirm something unusual by typing its name, so that no one confirms by pressing a key
 * without reading. A wrong name ends the command.
 * @throws CommandError if there is no terminal (its message names the option), or if another text is typed
 */
export async function confirm({ sentence, name, option }: Unusual): Promise<void> {
  if (!process.stdin.isTTY) throw new CommandError(`${sentence} To do this nevertheless, add ${option}.`);
  printMessage(sentence);
  if ((await askVisible(`Type ${name} to do this nevertheless: `)).trim() !== name)
    throw new CommandError(`Nothing was done: ${name} was not typed.`);
}
