import { availableParallelism } from 'node:os';

/** Tests are loaded by Node's own loader (`runtime`), which compiles decorators and their metadata as the build does. */
export default {
  globalSetup: '<rootDir>/test/support/runner/global-setup.mjs',
  globalTeardown: '<rootDir>/test/support/runner/global-teardown.mjs',
  testSequencer: '<rootDir>/test/support/runner/sequencer.mjs',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  // These tests need Linux: they mount a small disk, and count the file descriptors of another process in /proc.
  testPathIgnorePatterns: [
    '/node_modules/',
    ...(process.platform === 'linux' ? [] : ['/test/faults/(disk|descriptors)\\.test\\.ts$']),
  ],
  // Ends a test that hangs. It does not measure how slow a test is, so no test needs a shorter limit of its own.
  testTimeout: 600_000,
  // One worker more than there are cores, because a worker often waits. At most three, because the services in each
  // worker connect to the same PostgreSQL, which accepts a hundred connections.
  maxWorkers: Math.min(availableParallelism() + 1, 3),
  // Test files leave memory that is never freed. A worker that uses more than this is replaced before its next file.
  workerIdleMemoryLimit: '250MB',
  // On a slow machine a worker needs more than half a second to exit, and Jest would report a leak.
  workerGracefulExitTimeout: 10_000,
  testEnvironment: '<rootDir>/test/support/runner/environment.mjs',
  runtime: '<rootDir>/test/support/runner/runtime.mjs',
  setupFiles: ['<rootDir>/test/support/limits.ts'],
  // `npm run mutation` copies the sources to this folder.
  modulePathIgnorePatterns: ['<rootDir>/mutation/.sandbox/'],
  transform: {},
  injectGlobals: false,
};
