import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Finds the lines that differ from a commit, including new files that are not added.
 * @returns pairs of the first and last line, by file
 */
export function changedLines(reference, directory) {
  const args = ['diff', '--unified=0', '--no-color', '--no-ext-diff', '--no-prefix', reference, '--', '*.ts'];
  const git = (list) => execFileSync('git', list, { cwd: directory, encoding: 'utf8', maxBuffer: 1e9 });
  const changed = new Map();
  let file;
  for (const line of git(args).split('\n')) {
    if (line.startsWith('+++ ')) file = line.slice('+++ '.length).trim();
    const hunk = /^@@ -\S+ \+(\d+)(?:,(\d+))? @@/.exec(line);
    if (!hunk) continue;
    const [from, count] = [Number(hunk[1]), Number(hunk[2] ?? 1)];
    // A hunk that only removes lines has no lines to mutate.
    if (count > 0) changed.set(file, [...(changed.get(file) ?? []), [from, from + count - 1]]);
  }
  const untracked = git(['ls-files', '-z', '--others', '--exclude-standard', '--', '*.ts']);
  for (const name of untracked.split('\0').filter(Boolean)) {
    const lines = readFileSync(join(directory, name), 'utf8').split('\n').length;
    changed.set(name, [[1, lines]]);
  }
  return changed;
}
