/**
 * Ends the process with 1 on an error that nothing caught. Its state is unknown then, so nothing is finished or closed, and
 * what runs the process starts it again.
 * @param report says what happened, without the error's message, which Node would print otherwise and which may hold a key
 *   or an address
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
