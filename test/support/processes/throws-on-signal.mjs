// A module that is preloaded into a process. Each of three signals makes the process fail in another way, with a message that must
// not be printed. If TEST_SIGNAL is set, that signal is emitted as soon as the program handles uncaught errors.
const message = process.env.TEST_CANARY;

process.on('SIGUSR2', () => {
  throw new TypeError(message);
});
process.on('SIGWINCH', () => {
  void Promise.reject(Object.assign(new RangeError(message), { code: 'ETEST', detail: message }));
});
process.on('SIGCONT', () => {
  // oxlint-disable-next-line prefer-promise-reject-errors -- the test needs a rejection with a value that is not an error
  void Promise.reject(message);
});

const { TEST_SIGNAL } = process.env;
if (TEST_SIGNAL) {
  process.on('newListener', (event) => {
    if (event === 'uncaughtException') setImmediate(() => process.emit(TEST_SIGNAL));
  });
}
