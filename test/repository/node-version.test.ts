import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { REQUIRED_NODE_MAJOR } from '../../src/core/required-node.js';
import { CLI } from '../support/processes/cli-harness.js';
import { MAIN } from '../support/processes/server-process.js';

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
const json = (file: string) => JSON.parse(read(file));

test('package.json, the scripts, the image and the documentation name the Node that the program requires', () => {
  const range = `>=${REQUIRED_NODE_MAJOR}`;
  for (const file of ['package.json', 'judges/package.json', 'mutation/package.json'])
    expect([file, json(file).engines.node]).toEqual([file, range]);
  expect(json('package-lock.json').packages[''].engines.node).toBe(range);
  expect(read('scripts/prepare.mjs')).toContain(`parseInt(version.slice(1), 10) >= ${REQUIRED_NODE_MAJOR}`);
  expect(read('scripts/package-cli.mjs')).toContain(`const OLDEST_NODE = ${REQUIRED_NODE_MAJOR};`);
  expect(read('Dockerfile')).toContain(`ARG NODE_IMAGE=node:${REQUIRED_NODE_MAJOR}-slim`);
  for (const page of ['README.md', 'docs/operations/install.md'])
    expect(read(page).replaceAll(/\s+/g, ' ')).toContain(`Node ${REQUIRED_NODE_MAJOR} or later`);
  const bundled = Object.entries<string>(json('package.json').optionalDependencies).filter(([name]) =>
    name.startsWith('node-'),
  );
  expect(bundled.map(([, version]) => parseInt(version, 10))).toEqual(bundled.map(() => REQUIRED_NODE_MAJOR));
  expect(bundled.length).toBeGreaterThan(0);
});

// The bundled Node of `node_modules/.bin` precedes an installed one in the PATH.
const pathWithoutBundled = process.env['PATH']!.split(':')
  .filter((folder) => !folder.includes('node_modules'))
  .join(':');
const installed = run('sh', ['-c', 'node --version'], pathWithoutBundled).stdout.trim().slice(1);
// Without an old Node the test is skipped, so that the report shows what was not tested.
const testWithOldNode = parseInt(installed, 10) < REQUIRED_NODE_MAJOR ? test : test.skip;

describe.each([
  ['main.js', MAIN],
  ['cli.js', CLI],
])('%s under an old Node', (name, program) => {
  const sentence = (version: string) =>
    `Mooring needs Node ${REQUIRED_NODE_MAJOR} or later, and this is Node ${version}: run it with a newer Node (docs/operations/install.md).\n`;

  test('prints one sentence and exits with code 2, and loads nothing but the check of the version', () => {
    // This Node pretends to be an old one, and prints each file that it loads.
    const pretend = `import { registerHooks } from 'node:module';
      Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } });
      registerHooks({ load: (url, context, next) => (console.log(url.replace(/.*\\//, '')), next(url, context)) });`;
    const url = `data:text/javascript,${encodeURIComponent(pretend)}`;
    const { status, stdout, stderr } = run(process.execPath, ['--import', url, program]);
    expect({ status, stderr }).toEqual({ status: 2, stderr: sentence('20.20.2') });
    // The bundle begins with some functions of the bundler.
    const loaded = stdout.split('\n').filter((file) => file !== '' && file !== 'rolldown-runtime.js');
    expect(loaded).toEqual([name, 'required-node.js']);
  });

  testWithOldNode('does the same under an old Node that is installed', () => {
    const { status, stdout, stderr } = run('sh', ['-c', 'node "$0"', program], pathWithoutBundled);
    expect({ status, stdout, stderr }).toEqual({ status: 2, stdout: '', stderr: sentence(installed) });
  });
});

function run(program: string, args: string[], PATH = process.env['PATH']!) {
  const { status, stdout, stderr } = spawnSync(program, args, { env: { PATH }, encoding: 'utf8' });
  return { status, stdout, stderr };
}
