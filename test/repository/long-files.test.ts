import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { filesOfWorkingCopy } from '../docs/working-copy.js';

const MAX_LINES = 200;
const REASON = /The file is long, because|^\/\/ Generated from /;

const isCode = (path: string) => /\.(ts|tsx|mjs|py)$/.test(path) && !/(^|\/)tests?\//.test(path);

test('each file of more than 200 lines that is not a test says why it is long', () => {
  const texts = filesOfWorkingCopy(isCode).map((path) => [path, readFileSync(path, 'utf8')] as const);
  const long = texts.filter(([, text]) => text.trimEnd().split('\n').length > MAX_LINES);
  expect(long.length).toBeGreaterThan(10);
  expect(long.filter(([, text]) => !REASON.test(text)).map(([path]) => path)).toEqual([]);
});
