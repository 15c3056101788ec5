import { fileURLToPath } from 'node:url';
import { command, ensureBuilt, ensureInstalled, node24, step } from '../scripts/prepare.mjs';

/** Runs a bench: its options are read first, what is missing is installed and built, and it goes on under a new enough Node. */
export const benchCommand = (url, parseOptions, run) =>
  command(async () => {
    const options = parseOptions();
    await ensureInstalled();
    await ensureBuilt();
    if (parseInt(process.versions.node, 10) >= 24) return run(options);
    return (await step(node24(), [fileURLToPath(url), ...process.argv.slice(2)])).code;
  });
