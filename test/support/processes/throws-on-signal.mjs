// Preloaded into a process: each signal makes it fail in another way, with a message that must not be printed. The signal of
// TEST_SIGNAL, if set, is sent as soon as the program handles uncaught errors.
const message = process.env.TEST_CANARY;

process.on('SIGUSR2', () => {
  throw new TypeError(message);
});
process.on('SIGWINCH', () => {
  void Promise.reject(Object.assign(new RangeError(message), { code: 'ETEST', detail: message }));
});
process.on('SIGCONT', () => {
  // oxlint-disable-next-line prefer-promise-reject-errors -- what is rejected with need not be an error
  void Promise.reject(message);
});

const { TEST_SIGNAL } = process.env;
if (TEST_SIGNAL) {
  process.on('newListener', (event) => {
    if (event === 'uncaughtException') setImmediate(() => process.emit(TEST_SIGNAL));
  });
}
