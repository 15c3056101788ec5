import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { filesOfWorkingCopy } from '../docs/working-copy.js';

const isCode = (path: string) => /\.(ts|tsx|mts|mjs)$/.test(path);
const files = new Map(filesOfWorkingCopy(isCode).map((path) => [path, readFileSync(path, 'utf8')]));
const words = new Map([...files].map(([path, text]) => [path, new Set(text.match(/\w+/g))]));

/** The functions, classes and constants that a file exports. */
const exportsOf = (text: string): string[] =>
  [...text.matchAll(/^export (?:async )?(?:abstract )?(?:function\*?|class|const) (\w+)/gm)].map(
    ([, name]) => name!,
  );

const isNamedElsewhere = (name: string, path: string) =>
  [...words].some(([other, names]) => other !== path && names.has(name));

test('every exported function, class and constant is named in another file', () => {
  const unused = [...files]
    // `npm run judges` compiles these files to check generated types, and no file imports them.
    .filter(([path]) => !path.startsWith('judges/consumers/'))
    .flatMap(([path, text]) =>
      exportsOf(text)
        .filter((name) => !isNamedElsewhere(name, path))
        .map((name) => `${path}: ${name}`),
    );
  expect(unused).toEqual([]);
  expect(exportsOf('export async function run() {}\nexport const LIMIT = 1;\nconst own = 2;')).toEqual([
    'run',
    'LIMIT',
  ]);
});
