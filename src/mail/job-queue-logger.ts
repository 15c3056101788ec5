import { Logger } from 'graphile-worker';
import type { LibraryOutput } from '../core/library-output.js';

/**
 * Creates the logger of the job queue: its warnings and errors go to `output`. The failures of jobs do not, because `JobWorker`
 * logs them. @param shutdown after its abort nothing is logged, because the connections are then being closed
 */
export function queueLogger(output: LibraryOutput, shutdown: AbortSignal): Logger {
  // The text is left out, because it may contain personal data; `output` finds the error among the values of `meta`.
  return new Logger(() => (level, _text, meta = {}) => {
    const isLogged = /^(error|warning)$/.test(level) && !('job' in meta) && !shutdown.aborted;
    if (isLogged) output.write('job queue', Object.values(meta));
  });
}
