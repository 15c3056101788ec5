import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { filesOfWorkingCopy } from '../docs/working-copy.js';

const MAX_LINES = 200;
const REASON = /The file is long, because|^\/\/ Generated from /;

const MAX_COMMENT_CHARACTERS = 132;
/** A line that is only a comment. */
const COMMENT = /^\s*(?:\/\/|\/?\*+|#|--) /;

const isCode = (path: string) => /\.(ts|tsx|mjs|py)$/.test(path) && !/(^|\/)tests?\//.test(path);

test('each file of more than 200 lines that is not a test says why it is long', () => {
  const texts = filesOfWorkingCopy(isCode).map((path) => [path, readFileSync(path, 'utf8')] as const);
  const long = texts.filter(([, text]) => text.trimEnd().split('\n').length > MAX_LINES);
  expect(long.length).toBeGreaterThan(10);
  expect(long.filter(([, text]) => !REASON.test(text)).map(([path]) => path)).toEqual([]);
});

test('each line of a comment has at most 132 characters', () => {
  // A migration that was carried out must not change. The comments in api-types.ts are the descriptions of docs/openapi.yaml, which
  // may be longer.
  const isChecked = (path: string) =>
    /\.(tsx?|mjs|py|sql|css)$/.test(path) && !/^migrations\/|\/api-types\.ts$/.test(path);
  const long = filesOfWorkingCopy(isChecked).flatMap((path) =>
    readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => COMMENT.test(line) && line.length > MAX_COMMENT_CHARACTERS)
      .map((line) => `${path}: ${line}`),
  );
  expect(long).toEqual([]);
});
