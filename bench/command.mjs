import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import {
  command,
  ensureBundled,
  ensureInstalled,
  ensureWebBuilt,
  ScriptError,
  node24,
  step,
} from '../scripts/prepare.mjs';

/**
 * Runs a bench: reads its options first, then installs and builds what is missing. If this Node is older than 24, the bench
 * continues in a child process under Node 24.
 * @param {string} url of the calling module
 * @param parseOptions reads the command line
 * @param run receives the options, and returns the exit code
 */
export const runBench = (url, parseOptions, run) =>
  command(async () => {
    const options = parseOptions();
    await ensureInstalled();
    await ensureBundled();
    await ensureWebBuilt();
    if (parseInt(process.versions.node, 10) >= 24) return run(options);
    return (await step(node24(), [fileURLToPath(url), ...process.argv.slice(2)])).code;
  });

/** Describes a command-line option with a text value, for `readOptions`. */
export const option = (defaultValue) => ({ type: 'string', default: defaultValue });

/**
 * Reads the command line. @param options as `parseArgs` takes them
 * @throws ScriptError that lists the options, if the command line has another one, such as --help
 */
export function readOptions(options) {
  try {
    return parseArgs({ options }).values;
  } catch ({ message }) {
    const list = Object.entries(options).map(([name, { default: value }]) =>
      value === undefined ? `--${name}` : `--${name} (by default ${value})`,
    );
    throw new ScriptError(`${message}\nThe options are ${list.join(', ')}.\nbench/README.md describes them.`);
  }
}

/** Converts options to whole numbers above 0. @throws ScriptError if an option is not one */
export const parseWholeNumbers = (options) =>
  Object.fromEntries(
    Object.entries(options).map(([name, value]) => {
      const number = Number(value);
      if (!Number.isInteger(number) || number < 1)
        throw new ScriptError(`--${name} must be a whole number above 0.`);
      return [name, number];
    }),
  );
