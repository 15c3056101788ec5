/** The global member in which Jest stores the time limit that a test file has set. */
const TEST_TIMEOUT = Symbol.for('TEST_TIMEOUT_SYMBOL');
/** The time limit of a hook if the test file has set none (`testTimeout` in jest.config.js). */
const DEFAULT_LIMIT_MS = 600_000;

/** Waits as long for work as Jest does for a hook. Jest has no limit for the loading and the end of a test file. */
export async function withinTimeLimit(work) {
  const milliseconds = globalThis[TEST_TIMEOUT] ?? DEFAULT_LIMIT_MS;
  let timer;
  const limit = new Promise((_resolve, reject) => {
    const error = new Error(
      `Exceeded timeout of ${milliseconds} ms for a hook, at the start or end of the file.`,
    );
    timer = setTimeout(() => reject(error), milliseconds);
  });
  try {
    return await Promise.race([work(), limit]);
  } finally {
    clearTimeout(timer);
  }
}
