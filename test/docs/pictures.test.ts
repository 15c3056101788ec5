import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const folder = new URL('../../docs/pages/', import.meta.url);

test('the index of the pictures shows each picture once, under a sentence that is also its alternative text', () => {
  const index = readFileSync(new URL('README.md', folder), 'utf8');
  const shown = [...index.matchAll(/^(.+)\n\n!\[(.+)\]\((.+)\)$/gm)];
  expect(shown.map(([, sentence]) => sentence)).toEqual(shown.map(([, , text]) => text));
  const pictures = readdirSync(folder).filter((name) => name.endsWith('.png'));
  expect(shown.map(([, , , file]) => file).toSorted()).toEqual(pictures.toSorted());
});
