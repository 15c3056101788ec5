import config from '../jest.config.js';

/** Of the tests in this folder, with what the tests of the service have: PostgreSQL, the harness, the same compiler. */
export default { ...config, rootDir: '..', testMatch: ['<rootDir>/judges/*.test.ts'] };
