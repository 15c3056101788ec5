import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { temporaryFolder } from '../support/folders.js';

/*
 * Checks the selection of `npm run mutation`, and that its list of surviving mutants matches the current sources. These tests do
 * not run the mutants.
 */

interface Survivor {
  readonly file: string;
  readonly mutator: string;
  /** The line of the source where the mutated text begins, without indentation. */
  readonly in: string;
  readonly original: string;
  readonly replacement: string;
  readonly reason: string;
}
const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const survivors = JSON.parse(read('mutation/survivors.json')) as Survivor[];
const { AREAS } = (await import(join(root, 'mutation/areas.mjs'))) as {
  AREAS: Record<string, { mutate: string[]; tests: string[]; minimum: number }>;
};

/** Whether an entry is about a text that its file still has. */
function isCurrent({ file, in: line, original }: Survivor, text: string): boolean {
  const lines = text.split('\n').map((each) => each.trim());
  return file !== '' && lines.includes(line) && text.includes(original);
}

test('--since finds the changed lines, and all lines of files that are not added to git', async () => {
  const folder = temporaryFolder();
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], { cwd: folder });
  writeFileSync(join(folder, 'old.ts'), '1\n2\n3\n');
  writeFileSync(join(folder, '.gitignore'), 'ignored.ts');
  git('init', '--quiet');
  git('add', '.');
  git('commit', '--quiet', '--no-gpg-sign', '--message', 'a');
  writeFileSync(join(folder, 'old.ts'), '1\nb\n3\n');
  writeFileSync(join(folder, 'new.ts'), '1\n2');
  writeFileSync(join(folder, 'ignored.ts'), '1');
  const { changedLines } = (await import(join(root, 'mutation/changed-lines.mjs'))) as {
    changedLines(reference: string, directory: string): Map<string, number[][]>;
  };
  expect(Object.fromEntries(changedLines('HEAD', folder))).toEqual({
    'old.ts': [[2, 2]],
    'new.ts': [[1, 2]],
  });
});

describe('what is mutated', () => {
  interface Selection {
    readonly since?: string;
    readonly area?: string[];
    readonly paths?: string[];
  }
  const selectTargets = async ({ paths = [], ...options }: Selection, directory = root) => {
    const module = (await import(join(root, 'mutation/targets.mjs'))) as {
      selectTargets(
        root: string,
        directory: string,
        options: Selection,
      ): { name: string; targets: string[] }[];
    };
    const areas = module.selectTargets(root, directory, { ...options, paths });
    return Object.fromEntries(areas.map(({ name, targets }) => [name, targets]));
  };

  test('is every area without options, and else the named areas, files and folders', async () => {
    expect(Object.keys(await selectTargets({}))).toEqual(Object.keys(AREAS));
    expect(Object.keys(await selectTargets({ area: ['keys', 'events'] }))).toEqual(['keys', 'events']);
    const time = { client: ['client/src/time.ts'] };
    expect(await selectTargets({ paths: ['client/src/time.ts'] })).toEqual(time);
    expect(await selectTargets({ paths: ['time.ts'] }, join(root, 'client/src'))).toEqual(time);
    expect(await selectTargets({ paths: [join(root, 'client/src/time.ts')] })).toEqual(time);
    expect(Object.keys(await selectTargets({ paths: ['client', 'src/events/'] }))).toEqual([
      'client',
      'events',
    ]);
    expect(await selectTargets({ paths: ['.'] })).toEqual(await selectTargets({}));
  });

  test.each<[string, Selection, string]>([
    [
      'an unknown area',
      { area: ['keys', 'kyes'] },
      '--area kyes is not an area of mutation/areas.mjs: keys, ',
    ],
    ['a path without a file', { paths: ['client', 'src/kyes'] }, 'No selected area mutates src/kyes.'],
    ['a file of no named area', { area: ['keys'], paths: ['client'] }, 'No selected area mutates client.'],
    ['--since with paths', { since: 'HEAD', paths: ['client'] }, 'leave out --since, or the paths.'],
  ])('cannot be selected by %s', async (_name, selection, message) => {
    await expect(selectTargets(selection)).rejects.toThrow(message);
  });
});

describe('the list of surviving mutants', () => {
  test('names texts that the sources have', () => {
    const outdated = survivors.filter((entry) => !isCurrent(entry, read(entry.file)));
    expect(outdated).toEqual([]);
  });

  test('is outdated if a source no longer has the text of an entry', () => {
    const entry = {
      file: 'x',
      mutator: '',
      in: 'return a + b;',
      original: 'a + b',
      replacement: '',
      reason: '',
    };
    expect(isCurrent(entry, 'function sum() {\n  return a + b;\n}')).toBe(true);
    expect(isCurrent(entry, 'function sum() {\n  return a - b;\n}')).toBe(false);
  });

  test('has no entry twice, and for each entry a reason in a sentence', () => {
    const keys = survivors.map(({ reason: _reason, ...entry }) => JSON.stringify(entry));
    expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([]);
    expect(survivors.filter(({ reason }) => !/^[A-Za-z].{19,}\.$/s.test(reason))).toEqual([]);
  });
});

describe('the patterns of the areas', () => {
  const patterns = Object.values(AREAS).flatMap(({ mutate, tests }) => [...mutate, ...tests]);

  test.each([...new Set(patterns.map((pattern) => pattern.replace(/^!/, '')))])(
    '%s matches files',
    (pattern) => expect(globSync(pattern, { cwd: root })).not.toEqual([]),
  );
});
