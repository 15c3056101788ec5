import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import ts from 'typescript';
import { BANNED_WORDS } from './banned-words.js';
import { filesOfWorkingCopy } from './working-copy.js';

/** The names of published alerts. They may contain banned words, because operators already use the names. */
const ALERT_NAMES = /\bMooring[A-Z][A-Za-z]+\b/g;

/** The banned words in a text, also within camelCase and kebab-case names. snake_case names belong to the wire and SQL. */
function bannedWords(text: string): string[] {
  const words = text
    .replaceAll(ALERT_NAMES, '')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .match(/[a-z_]+/g);
  return (words ?? []).filter((word) => Object.hasOwn(BANNED_WORDS, word));
}

const linesWithBannedWords = (path: string, text: string): string[] =>
  text.split('\n').flatMap((line, index) => {
    const words = bannedWords(line);
    return words.length > 0 ? [`${path}:${index + 1}: ${words.join(', ')}`] : [];
  });

/** The first arguments of `describe`, `test`, `test.each(…)`, `testWith(…)` and the like in a file, each after its path. */
function testNames(path: string): string[] {
  const names: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && /^(describe|test)/.test(node.expression.getText())) {
      const [name] = node.arguments;
      if (name && (ts.isStringLiteralLike(name) || ts.isTemplateExpression(name)))
        names.push(`${path}: ${name.getText()}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true));
  return names;
}

const isText = (path: string) => /\.(ts|tsx|mjs|css|html|md|yaml|sql|py)$|\/en\.json$/.test(path);

test.each([
  'src/',
  'web/',
  'client/',
  'clients/',
  'conformance/',
  'migrations/',
  'bench/',
  'scripts/',
  'judges/',
  'mutation/',
])('no banned word is in %s', (folder) => {
  const files = filesOfWorkingCopy((path) => isText(path), folder);
  expect(files.length).toBeGreaterThan(0);
  expect(
    files.flatMap((path) => linesWithBannedWords(path, `${path}\n${readFileSync(path, 'utf8')}`)),
  ).toEqual([]);
});

test('no banned word is in a page of the documentation', () => {
  const pages = filesOfWorkingCopy(
    (path) => /\.(md|yaml|yml)$/.test(path) && (path.startsWith('docs/') || !path.includes('/')),
  );
  expect(pages.length).toBeGreaterThan(50);
  expect(pages.flatMap((path) => linesWithBannedWords(path, readFileSync(path, 'utf8')))).toEqual([]);
});

describe('tests', () => {
  const files = filesOfWorkingCopy((path) => path.endsWith('.ts'), 'test/');

  test('have no banned word in the name of a file', () => {
    expect(files.filter((path) => bannedWords(basename(path)).length > 0)).toEqual([]);
  });

  test('have no banned word in their names', () => {
    const names = files.filter((path) => path.endsWith('.test.ts')).flatMap(testNames);
    expect(names.length).toBeGreaterThan(2_000);
    expect(names.filter((name) => bannedWords(name).length > 0)).toEqual([]);
  });
});

test('a banned word is found in sentences and names', () => {
  expect(bannedWords('Nobody reads this; takeAway, ANSWER_LIMIT_MS, patience-limit')).toEqual([
    'nobody',
    'away',
    'patience',
  ]);
  expect(bannedWords('lifetime, background, MooringDatabaseAway, mooring_token_keys_trouble')).toEqual([]);
});
