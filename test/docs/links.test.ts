import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { filesOfWorkingCopy } from './working-copy.js';

/** The anchor that a heading gets on GitHub. */
const toAnchor = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[`*]|<[^>]*>/g, '')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');

function anchorsOf(page: string): Set<string> {
  const text = readFileSync(page, 'utf8').replaceAll(/^```[^]*?^```/gm, '');
  const headings = [...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading]) => toAnchor(heading!));
  const repeated = headings.flatMap((each, i) =>
    headings.indexOf(each) < i
      ? [`${each}-${headings.slice(0, i).filter((h) => h === each).length}`]
      : [each],
  );
  const named = [...text.matchAll(/<a id="([^"]+)">/g)].map(([, id]) => id!);
  return new Set([...repeated, ...named]);
}

/** Checks a target such as `docs/contract.md#errors`. @returns what is wrong; undefined if it exists */
function findFault(path: string, anchor: string | undefined): string | undefined {
  if (!existsSync(path)) return `${path} does not exist`;
  if (!anchor || !path.endsWith('.md')) return undefined;
  return anchorsOf(path).has(anchor) ? undefined : `${path} has no heading #${anchor}`;
}

const pages = filesOfWorkingCopy((path) => path.endsWith('.md'));

test('the pages of the documentation are found', () => expect(pages.length).toBeGreaterThan(40));

test.each(pages)('every link of %s leads to a file and a heading', (page) => {
  const text = readFileSync(page, 'utf8').replaceAll(/^```[^]*?^```/gm, '');
  const faults = [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link]) => link!)
    .filter((link) => !/^[a-z]+:/.test(link))
    .map((link) => {
      const [path = '', anchor] = link.split('#');
      return findFault(path === '' ? page : normalize(join(dirname(page), path)), anchor);
    });
  expect(faults.filter(Boolean)).toEqual([]);
});

describe('citations', () => {
  // A decision is cited by its number.
  const CITATION = /(?<![\w/.-])docs\/(?:decisions\/(\d{4})|([\w/-]+\.md)(?:#([\w-]+))?)/g;
  const decisions = filesOfWorkingCopy((path) => path.startsWith('docs/decisions/'));
  // This file itself cites pages that do not exist.
  const sources = filesOfWorkingCopy(
    (path) => /\.(ts|tsx|mjs|sql|yaml|yml|cfg)$/.test(path) && !path.startsWith('test/docs/links'),
  );

  const faultsOf = (text: string) =>
    [...text.matchAll(CITATION)]
      .map(([, decision, path, anchor]) =>
        decision === undefined
          ? findFault(`docs/${path}`, anchor)
          : decisions.some((each) => each.startsWith(`docs/decisions/${decision}-`))
            ? undefined
            : `there is no decision ${decision}`,
      )
      .filter((each) => each !== undefined);

  test('in sources lead to a page and a heading', () => {
    const faults = sources.flatMap((path) =>
      faultsOf(readFileSync(path, 'utf8')).map((each) => `${path}: ${each}`),
    );
    expect(faults).toEqual([]);
  });

  test('that lead nowhere are found', () => {
    expect(faultsOf('see docs/contract.md#errors, docs/decisions/0013 and docs/clients.md')).toEqual([]);
    expect(faultsOf('docs/contract.md#nothing, docs/decisions/9999, docs/none.md')).toHaveLength(3);
  });
});
