import { availableParallelism } from 'node:os';

/** Jest in ESM mode; decorators and their metadata as the build emits them, or dependency injection would differ. */
export default {
  globalSetup: '<rootDir>/test/support/runner/global-setup.mjs',
  globalTeardown: '<rootDir>/test/support/runner/global-teardown.mjs',
  testSequencer: '<rootDir>/test/support/runner/sequencer.mjs',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  // Only Linux lets anybody fill a disk of a test's own, and look at the descriptors of another process.
  testPathIgnorePatterns: [
    '/node_modules/',
    ...(process.platform === 'linux' ? [] : ['/test/faults/(disk|descriptors)\\.test\\.ts$']),
  ],
  // A guard against a test that hangs, and no measure of one that is slow: the only one, so no test sets its own.
  testTimeout: 600_000,
  // One more than there are cores, for one of them often waits; and at most three, for each brings services with their
  // connections to one PostgreSQL, which takes a hundred.
  maxWorkers: Math.min(availableParallelism() + 1, 3),
  // Some of what files have used is never freed: a worker that holds more begins anew before its next file.
  workerIdleMemoryLimit: '250MB',
  // After the last file a worker takes more than the usual half second to end on a slow machine, and Jest would report a leak.
  workerGracefulExitTimeout: 10_000,
  testEnvironment: '<rootDir>/test/support/runner/environment.mjs',
  runtime: '<rootDir>/test/support/runner/runtime.mjs',
  setupFiles: ['<rootDir>/test/support/limits.ts'],
  // Copies of the sources that `npm run mutation` makes.
  modulePathIgnorePatterns: ['<rootDir>/mutation/.sandbox/'],
  transform: {},
  injectGlobals: false,
};
