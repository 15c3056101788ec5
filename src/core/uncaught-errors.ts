/**
 * Ends the process with status 1 after an uncaught error. The state of the process is then unknown, so no request is
 * finished and no resource is closed; only the `exit` handlers run. A supervisor starts the service again.
 * @param report logs the error, without its message, which may contain a key or an address
 */
export function exitOnUncaught(report: (error: unknown) => Promise<void>): void {
  let isEnding = false;
  const end = async (error: unknown): Promise<void> => {
    if (isEnding) return;
    isEnding = true;
    try {
      await report(error);
    } finally {
      process.exit(1);
    }
  };
  process.on('uncaughtException', (error) => void end(error));
  process.on('unhandledRejection', (reason) => void end(reason));
}
