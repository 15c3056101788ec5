// Preloaded into a process: it fails in the way that a signal's name asks for, with a message that must not be shown. Where
// TEST_SIGNAL names one, it is sent as soon as the program handles uncaught errors.
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
