import { spawnSync } from 'node:child_process';
import { test } from '@jest/globals';

/** Returns `test`; without the program on this machine `test.skip`, so that the report shows what was not tested. */
export const testWith = (program: string) => (spawnSync(program, ['--version']).error ? test.skip : test);
