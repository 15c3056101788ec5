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

/** Reads the command line of a bench, as `readOptions` does. Each bench has the option `write` too. */
export const readBenchOptions = (numbers, others) =>
  readOptions(numbers, { ...others, write: { type: 'boolean' } });

/**
 * Reads the command line.
 * @param numbers the defaults of the options whose values are whole numbers above 0
 * @param others the other options, as `parseArgs` takes them
 * @throws ScriptError that lists the options, if the command line has another one, such as --help, or if a number is not one
 */
export function readOptions(numbers, others = {}) {
  const asTexts = Object.entries(numbers).map(([name, value]) => [
    name,
    { type: 'string', default: String(value) },
  ]);
  const values = parseCommandLine({ ...Object.fromEntries(asTexts), ...others });
  for (const name of Object.keys(numbers)) values[name] = parseWholeNumber(name, values[name]);
  return values;
}

function parseCommandLine(options) {
  try {
    return parseArgs({ options }).values;
  } catch ({ message }) {
    const list = Object.entries(options).map(([name, { default: value }]) =>
      value === undefined ? `--${name}` : `--${name} (by default ${value})`,
    );
    throw new ScriptError(`${message}\nThe options are ${list.join(', ')}.\nbench/README.md describes them.`);
  }
}

/** Converts the value of an option to a whole number above 0. @throws ScriptError if it is not one */
export function parseWholeNumber(name, value) {
  const number = Number(value);
  if (!Number.isInteger(number) || number < 1)
    throw new ScriptError(`--${name} must be a whole number above 0.`);
  return number;
}
