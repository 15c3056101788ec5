import { constants } from 'node:os';
import { exitOnUncaught } from '../core/uncaught-errors.js';

/**
 * Ends the process of a command on a signal or when the reader of its output has ended, with the status that shells give to the
 * signal (128 and its number), and on an uncaught error with 1.
 * @param report logs an uncaught error
 */
export function endOnProcessEvents(report: (error: unknown) => Promise<void>): void {
  // `process.exit` runs the exit handler that ends an embedded server, if this process started one.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => process.exit(128 + constants.signals[signal]));
  }
  exitOnUncaught(report);
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', ({ code }: NodeJS.ErrnoException) => {
      // The reader of the output has ended (`mooring … | head`), which needs no message. The command may be in the middle of its
      // work, so the status is not 0. Other codes are errors, such as a full disk.
      if (code === 'EPIPE') process.exit(128 + constants.signals.SIGPIPE);
      process.stderr.write(`The output could not be written (${code}).\n`);
      process.exit(1);
    });
  }
}
