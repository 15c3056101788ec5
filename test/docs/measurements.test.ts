import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const read = (path: string) => readFileSync(path, 'utf8');

/** The rows of the table "What it costs" in the README: the linked page of a bench, and the numbers of the row that it must have. */
const rows = read('README.md')
  .split('## What it costs')[1]!
  .split('\n')
  .flatMap((line) => {
    const [, what, result, comparison] = line.split('|').map((cell) => cell.trim());
    const page = /\((bench\/.+?\.md)\)/.exec(what ?? '')?.[1];
    const title = /\[(.+?)\]/.exec(what ?? '')?.[1];
    return page ? [{ title, page, numbers: `${result} ${comparison}`.match(/\d[\d,.]*\d|\d/g) ?? [] }] : [];
  });

test('the README has measurements of several pages', () => {
  expect(new Set(rows.map(({ page }) => page)).size).toBeGreaterThan(3);
  for (const { numbers } of rows) expect(numbers).not.toEqual([]);
});

test.each(rows)('the measurements in the README for "$title" are those of $page', ({ page, numbers }) => {
  const text = read(page);
  const isOnPage = (number: string) =>
    new RegExp(`(?<![\\d.,])${RegExp.escape(number)}(?![\\d]|[.,]\\d)`).test(text);
  expect(numbers.filter((number) => !isOnPage(number))).toEqual([]);
});
