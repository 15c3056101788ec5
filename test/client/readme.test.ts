import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runInThisContext } from 'node:vm';
import { expect, test } from '@jest/globals';
import { LicenseProblem, MooringClient, ServiceUnreachable } from '../../client/src/client.js';
import type { ClientOptions } from '../../client/src/options.js';
import { Service } from '../support/harness.js';
import { temporaryFolder } from '../support/folders.js';

const README = readFileSync(new URL('../../client/README.md', import.meta.url), 'utf8');
const IMPORT =
  "import { LicenseProblem, MooringClient, ServiceUnreachable } from './client/dist/client.js';\n";

const folder = temporaryFolder();
const service = await Service.start();

/** Runs the first program of the README with a client of the sources. @returns what it prints */
async function runProgram(licenseKey: string): Promise<unknown[]> {
  const program = /^```js\n(.*?)^```$/ms.exec(README)![1]!;
  expect(program.startsWith(IMPORT)).toBe(true);
  const text = program.slice(IMPORT.length).replace('MOOR_XXXX-XXXX-XXXX-XXXX', licenseKey);
  class LocalClient extends MooringClient {
    constructor(options: ClientOptions) {
      super({
        ...options,
        baseUrl: service.url,
        stateFile: join(folder, options.stateFile),
        machineId: () => Promise.resolve('5e'.repeat(32)),
        log: () => undefined,
      });
    }
  }
  const run = runInThisContext(
    `async (MooringClient, LicenseProblem, ServiceUnreachable, console) => {${text}}`,
  ) as (...parts: unknown[]) => Promise<void>;
  const printed: unknown[] = [];
  await run(LocalClient, LicenseProblem, ServiceUnreachable, {
    log: (value: unknown) => printed.push(value),
  });
  return printed;
}

test('the first program of client/README.md activates, sends a heartbeat and checks for an update', async () => {
  const { license_key } = await service.issue({ email: 'ada@example.com' });
  expect(await runProgram(license_key)).toMatchObject([
    { kind: 'running' },
    { kind: 'running' },
    { available: false },
  ]);
});

test('the first program of client/README.md prints a refusal', async () => {
  expect(await runProgram('MOOR_E6S7-Z8KJ-TB3R-QKX6')).toEqual([
    expect.stringContaining('license_not_found'),
  ]);
});
