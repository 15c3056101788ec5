/** The error of `withTimeout` if a result did not arrive in time. */
export class TimeoutError extends Error {}

/**
 * Waits for a result, at most this number of milliseconds. The work that produces the result is not cancelled.
 * @throws TimeoutError
 */
export async function withTimeout<T>(result: Promise<T>, milliseconds: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new TimeoutError()), milliseconds);
  });
  try {
    return await Promise.race([result, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
