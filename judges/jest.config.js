import config from '../jest.config.js';

/** Runs the tests of this folder with the configuration of the other tests: PostgreSQL, the harness and the compiler. */
export default { ...config, rootDir: '..', testMatch: ['<rootDir>/judges/*.test.ts'] };
