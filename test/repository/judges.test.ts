import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { temporaryFolder } from '../support/folders.js';

/*
 * The judges are third-party tools that check the contract of the service (CONTRIBUTING.md#judges-from-outside). These tests do
 * not run them; they check what `npm run judges` installs, and that .ci/run runs it.
 */

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const { packages } = JSON.parse(read('judges/package-lock.json')) as { packages: Record<string, object> };
const manifest = JSON.parse(read('judges/package.json')) as Record<
  'devDependencies' | 'overrides',
  Record<string, string>
>;
const folder = temporaryFolder();

test('.ci/run runs the judges after the tests, and fails if one of them fails', () => {
  expect(read('.ci/run')).toMatch(/^set -euo pipefail$[^]*^npm test$[^]*^npm run judges$/m);
});

describe('the judges', () => {
  test('have an empty package in place of one that would report their installation', () => {
    expect(manifest.devDependencies['@scarf/scarf']).toBe('file:no-scarf');
    expect(manifest.overrides).toEqual({ '@scarf/scarf': '$@scarf/scarf' });
    const scarf = Object.entries(packages).filter(([path]) => /\bscarf$/.test(path));
    expect(scarf.filter(([path]) => path.includes('node_modules/'))).toEqual([
      ['node_modules/@scarf/scarf', { resolved: 'no-scarf', link: true }],
    ]);
    expect(readdirSync(join(root, 'judges/no-scarf'))).toEqual(['package.json']);
    const placeholder = Object.keys(JSON.parse(read('judges/no-scarf/package.json')) as object);
    expect(placeholder).toEqual(['name', 'version', 'description', 'license', 'private']);
  });

  test('are reported in one line as not installed if no registry answers', async () => {
    const files = [
      'scripts/prepare.mjs',
      ...['package.json', 'package-lock.json', '.npmrc', 'no-scarf'].map((name) => `judges/${name}`),
    ];
    for (const name of files) cpSync(join(root, name), join(folder, name), { recursive: true });
    const program = `import { command, ensureJudgesInstalled } from './scripts/prepare.mjs';
      await command(async () => (await ensureJudgesInstalled(), 0));`;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      cwd: folder,
      env: {
        PATH: process.env['PATH'],
        HOME: folder,
        // No server listens on this port.
        npm_config_registry: 'http://127.0.0.1:9/',
        npm_config_cache: join(folder, 'cache'),
        npm_config_fetch_retries: '0',
      },
      stdio: ['ignore', 'inherit', 'pipe'],
    });
    const [output, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    expect(output.split('\n')).toEqual([
      'Installing what is missing in judges/ (npm ci) …',
      'The judges are not installed: `npm ci` in judges/ failed (ECONNREFUSED). It needs a registry that npm reaches; run `npm run judges` again when there is one.',
      '',
    ]);
    expect(code).toBe(1);
  });
});
