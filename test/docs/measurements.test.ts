import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const read = (path: string) => readFileSync(path, 'utf8');
const numbersIn = (text: string) => text.match(/\d[\d,.]*\d|\d/g) ?? [];

/** The rows of the table "What it costs" in the README. Each links to a page of a bench, which must have the row's numbers. */
const rows = read('README.md')
  .split('## What it costs')[1]!
  .split('\n')
  .flatMap((line) => {
    const [, what, result, comparison] = line.split('|').map((cell) => cell.trim());
    const page = /\((bench\/.+?\.md)\)/.exec(what ?? '')?.[1];
    const title = /\[(.+?)\]/.exec(what ?? '')?.[1];
    return page ? [{ title, page, numbers: numbersIn(`${result} ${comparison}`) }] : [];
  });

test('the README has measurements of several pages', () => {
  expect(new Set(rows.map(({ page }) => page)).size).toBeGreaterThan(3);
  for (const { numbers } of rows) expect(numbers).not.toEqual([]);
});

test.each(rows)('the measurements in the README for "$title" are those of $page', ({ page, numbers }) => {
  const onPage = new Set(numbersIn(read(page)));
  expect(numbers.filter((number) => !onPage.has(number))).toEqual([]);
});
