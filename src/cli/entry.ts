import 'reflect-metadata';
import { constants } from 'node:os';
import { run } from './program.js';
import { exitOnUncaught } from '../core/uncaught-errors.js';

// `process.exit` runs the exit handler that ends an embedded server, if this process started one.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => process.exit(128 + constants.signals[signal]));
}
exitOnUncaught(async (error) => {
  // The logger is loaded on demand, because commands without a database do not load it.
  const { errorFields } = await import('../core/logger.js');
  process.stderr.write(`${JSON.stringify({ msg: 'uncaught error', ...errorFields(error) })}\n`);
});
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
  // EPIPE is not an error: the reader of the output has ended (`mooring … | head`). Other codes are errors, such as a full disk.
  if (code === 'EPIPE') process.exit(0);
  process.stderr.write(`The output could not be written (${code}).\n`);
  process.exit(1);
});

process.exitCode = await run(process.argv.slice(2));
