import { describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../support/folders.js';

const folder = fileURLToPath(new URL('../vectors/', import.meta.url));
const script = fileURLToPath(new URL('../../scripts/vectors.mjs', import.meta.url));
const readme = readFileSync(join(folder, 'README.md'), 'utf8');
const files = readdirSync(folder).filter((file) => file.endsWith('.json'));

type Vectors = Record<string, unknown>;
const read = (file: string) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Vectors;

/** All cases in a file: the entries of all its lists. */
function cases(file: string): Vectors[] {
  return Object.values(read(file)).flatMap((value) => (Array.isArray(value) ? (value as Vectors[]) : []));
}

describe.each(files)('%s', (file) => {
  test('has a description, and each case has a unique sentence as its name', () => {
    expect(read(file)['description']).toMatch(/^[A-Z].*\.$/);
    const names = cases(file).map(({ name }) => name);
    for (const name of names) expect(name).toMatch(/^\S.{10,}\.$/);
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThan(0);
  });

  test('is described in the README, with each member of the file and of its cases', () => {
    const start = readme.indexOf(`## ${file}`);
    expect(start).toBeGreaterThan(0);
    const [section] = readme.slice(start + 3).split('\n## ');
    const members = new Set([...Object.keys(read(file)), ...cases(file).flatMap(Object.keys)]);
    for (const shared of ['name', 'description']) members.delete(shared);
    expect([...members].filter((name) => !section!.includes(`\`${name}\``))).toEqual([]);
  });
});

test('scripts/vectors.mjs makes the signed files byte for byte', () => {
  const made = temporaryFolder();
  const { status, stderr } = spawnSync(process.execPath, [script, made]);
  expect([status, stderr.toString()]).toEqual([0, '']);
  expect(readdirSync(made)).toEqual(['license-tokens.json', 'manifests.json', 'token-reading.json']);
  for (const file of readdirSync(made))
    expect(readFileSync(join(made, file), 'utf8')).toBe(readFileSync(join(folder, file), 'utf8'));
});
