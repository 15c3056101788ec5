import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from '@jest/globals';
import { sourceFrame } from '../../src/core/source-frames.js';
import { temporaryFolder } from '../support/folders.js';

const folder = temporaryFolder();
// Line 2 of the file is line 5 of the source. The others have no source, like the code of packages that the build includes.
const map = { version: 3, sources: ['../src/a.ts'], names: [], mappings: ';AAIA' };
writeFileSync(join(folder, 'mapped.js.map'), JSON.stringify(map));
writeFileSync(join(folder, 'broken.js.map'), '{');

const frame = (file: string, line: number) => `work (${pathToFileURL(join(folder, file)).href}:${line}:3)`;

test('a stack frame of a mapped line names the line of the source', () => {
  expect(sourceFrame(frame('mapped.js', 2))).toBe('work (src/a.ts:5:1)');
});

test.each([
  ['a line before the mapped one', () => frame('mapped.js', 1)],
  ['a line of a package after it', () => frame('mapped.js', 3)],
  ['a file without a map', () => frame('other.js', 2)],
  ['a file whose map is damaged', () => frame('broken.js', 2)],
  ['Node itself', () => 'emit (node:events:508:28)'],
])('a stack frame of %s stays as it is', (_, makeFrame) => {
  const given = makeFrame();
  expect(sourceFrame(given)).toBe(given);
});
