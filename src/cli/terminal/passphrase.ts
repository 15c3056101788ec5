import { readFileSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import {
  isLongPassphrase,
  isWeakPassphrase,
  LONG_PASSPHRASE,
  WEAK_PASSPHRASE,
} from './passphrase-strength.js';
import { CommandError, printMessage } from './output.js';

const utf8 = new TextDecoder('utf-8', { fatal: true });
const CTRL_D = '\u0004';
const LINE_END_KEYS = ['\r', '\n', CTRL_D];
const ERASE_KEYS = ['\u007f', '\b'];
const CTRL_C = '\u0003';
const CTRL_U = '\u0015';

/**
 * A function that reads a passphrase from a file descriptor or the terminal, never from the arguments, which all users can read.
 */
export type AskPassphrase = (prompt: string) => Promise<string>;

/**
 * Returns a function that asks for the passphrase of each encrypted key in turn.
 * @param fd a file descriptor from which the passphrases are read: one line for each encrypted key, in the order of the keys, or
 *   one line for all of them. Without it, the terminal asks.
 */
export function passphraseSource(fd: number | undefined): AskPassphrase {
  if (fd === undefined) return askTerminal;
  let lines: string[] | undefined;
  let next = 0;
  return async () => {
    lines ??= await linesOf(fd);
    const passphrase = lines.length === 1 ? lines[0] : lines[next++];
    if (passphrase === undefined)
      throw new CommandError(`The file descriptor ${fd} has fewer lines than there are encrypted keys.`);
    return nonEmpty(passphrase);
  };
}

/**
 * Returns a function that asks for the passphrase of a new key. It refuses a weak one and one that is too long. The terminal asks
 * twice, because it does not show what is typed.
 */
export function newPassphrase(fd: number | undefined): AskPassphrase {
  const ask = passphraseSource(fd);
  return async (prompt) => {
    const passphrase = await ask(prompt);
    if (isLongPassphrase(passphrase)) throw new CommandError(LONG_PASSPHRASE);
    if (isWeakPassphrase(passphrase)) throw new CommandError(WEAK_PASSPHRASE);
    if (fd === undefined && (await ask('Repeat the passphrase: ')) !== passphrase)
      throw new CommandError('The two passphrases differ.');
    return passphrase;
  };
}

/** Reads the lines of a file descriptor. @throws CommandError if they cannot be read or are not UTF-8 */
async function linesOf(fd: number): Promise<string[]> {
  try {
    // Standard input is read asynchronously, because Node makes a pipe there non-blocking: a synchronous read would fail (EAGAIN)
    // until the other program has written.
    return utf8
      .decode(fd === 0 ? await buffer(process.stdin) : readFileSync(fd))
      .replace(/\r?\n$/, '')
      .split(/\r?\n/);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Without the option `fatal` each invalid byte would become the same character, so different passphrases would be equal.
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') throw new CommandError('The passphrase is not UTF-8.');
    throw new CommandError(`No passphrase can be read from the file descriptor ${fd} (${code}).`);
  }
}

async function askTerminal(prompt: string): Promise<string> {
  if (!process.stdin.isTTY)
    throw new CommandError('There is no terminal to ask for the passphrase: use --passphrase-fd.');
  return nonEmpty(await askHidden(prompt));
}

/** Asks the terminal for a line, and does not show what is typed. Standard input must be a terminal. */
export async function askHidden(prompt: string): Promise<string> {
  const { stdin } = process;
  // The echo is turned off before the prompt, so that an immediate answer is not shown.
  stdin.setRawMode(true).setEncoding('utf8').resume();
  process.stderr.write(prompt);
  try {
    return await typedLine(stdin);
  } finally {
    stdin.setRawMode(false).pause();
    printMessage('');
  }
}

/** Asks the terminal for a line, and shows what is typed. Standard input must be a terminal. */
export async function askVisible(prompt: string): Promise<string> {
  const { stdin } = process;
  stdin.setEncoding('utf8').resume();
  process.stderr.write(prompt);
  return typedLine(stdin);
}

/** Reads a line. In raw mode the terminal neither edits the line nor interrupts the process, so this function does both. */
function typedLine(stdin: NodeJS.ReadStream): Promise<string> {
  return new Promise((resolve) => {
    let typed: string[] = [];
    const onData = (text: string) => {
      for (const [i, symbol] of [...text].entries()) {
        if (LINE_END_KEYS.includes(symbol)) {
          stdin.removeListener('data', onData).removeListener('end', onEnd).pause();
          // The next question reads what was already typed after the line end.
          stdin.unshift([...text].slice(i + 1).join(''));
          return resolve(typed.join(''));
        }
        if (symbol === CTRL_C) process.kill(process.pid, 'SIGINT');
        else if (symbol === CTRL_U) typed = [];
        else if (ERASE_KEYS.includes(symbol)) typed.pop();
        else typed.push(symbol);
      }
    };
    // Outside raw mode, Ctrl-D ends the input.
    const onEnd = () => resolve(typed.join(''));
    stdin.on('data', onData).once('end', onEnd);
  });
}

function nonEmpty(passphrase: string): string {
  if (passphrase === '') throw new CommandError('The passphrase is empty.');
  return passphrase;
}
