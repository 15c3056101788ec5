import { constants } from 'node:os';
import { exitOnUncaught } from '../core/uncaught-errors.js';

/**
 * Ends the process of a command as other programs end: with the status of a signal, or quietly when the reader of its output has ended.
 * @param report logs an uncaught error
 */
export function endOnProcessEvents(report: (error: unknown) => Promise<void>): void {
  // `process.exit` runs the exit handler that ends an embedded server, if this process started one.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => process.exit(128 + constants.signals[signal]));
  }
  exitOnUncaught(report);
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    // EPIPE is not an error: the reader of the output has ended (`mooring … | head`). Other codes are errors, such as a full disk.
    if (code === 'EPIPE') process.exit(0);
    process.stderr.write(`The output could not be written (${code}).\n`);
    process.exit(1);
  });
}
