import { fileURLToPath } from 'node:url';
import {
  command,
  ensureBuilt,
  ensureInstalled,
  ensureWebBuilt,
  Fault,
  node24,
  step,
} from '../scripts/prepare.mjs';

/** Runs a bench: its options are read first, what is missing is installed and built, and it goes on under a new enough Node. */
export const benchCommand = (url, parseOptions, run) =>
  command(async () => {
    const options = parseOptions();
    await ensureInstalled();
    await ensureBuilt();
    await ensureWebBuilt();
    if (parseInt(process.versions.node, 10) >= 24) return run(options);
    return (await step(node24(), [fileURLToPath(url), ...process.argv.slice(2)])).code;
  });

/** Options as whole numbers above 0. @throws Fault */
export const wholeNumbers = (options) =>
  Object.fromEntries(
    Object.entries(options).map(([name, value]) => {
      const number = Number(value);
      if (!Number.isInteger(number) || number < 1) throw new Fault(`--${name} wants a whole number above 0.`);
      return [name, number];
    }),
  );
