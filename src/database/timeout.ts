/** What was asked for did not come in time. */
export class TimeoutError extends Error {}

/**
 * An answer, if it comes within so many milliseconds. What comes later is not waited for; what was begun goes on to its end.
 * @throws Late
 */
export async function withTimeout<T>(answer: Promise<T>, milliseconds: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new TimeoutError()), milliseconds);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
