import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { filesOfWorkingCopy } from './working-copy.js';

/** The label of the digest of a machine id, which is made without the secret. */
const WITHOUT_SECRET = 'mooring machine v1';

test('SECURITY.md lists each value that is derived from LICENSE_KEY_SECRET, by the label of its derivation', () => {
  const files = filesOfWorkingCopy((path) => path.endsWith('.ts'), 'src/');
  const labels = files.flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(/'(mooring [\w -]+ v\d+)\\0'/g)].map(([, label]) => label!),
  );
  const listed = [...readFileSync('SECURITY.md', 'utf8').matchAll(/\| `(mooring [\w -]+ v\d+)` +\|/g)];
  expect(listed.map(([, label]) => label!).toSorted()).toEqual(
    labels.filter((label) => label !== WITHOUT_SECRET).toSorted(),
  );
});
