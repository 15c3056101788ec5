// Lists the files of an installation: the bundle of the service and its packages, the pages, and what an operator needs.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { BUNDLE, root } from './prepare.mjs';

/** What an installation has: a file or folder, and its name there if it has another one. */
const OWN = [
  ['.env.example'],
  ['CHANGELOG.md'],
  ['README.md'],
  ['SECURITY.md'],
  ['package.json'],
  ['deploy/mooring', 'bin/mooring'],
  ['deploy'],
  [BUNDLE, 'dist'],
  ['docs'],
  ['migrations'],
  ['web/dist'],
];
/** Own files that no installation uses: the stamps of builds, the pictures of the pages, and the command, which is in bin/. */
const UNUSED = /^(?:.*\/\.mooring-build|docs\/pages\/.*\.png|deploy\/mooring)$/;
/** The paths of the programs in an installation. */
const EXECUTABLE = /^(?:bin\/mooring|dist\/cli\.js)$/;

/**
 * Lists the files of an installation.
 * @returns files with the path in the installation, sorted by it, the content, the mode and the time in seconds
 */
export function packageFiles() {
  return OWN.flatMap(([from, to = from]) =>
    filesBelow(from).map((file) => ({ from: join(from, file), path: join(to, file) })),
  )
    .filter(({ path }) => !UNUSED.test(path))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
    .map(({ from, path }) => installedFile(path, readFileSync(join(root, from))));
}

/** Describes a file of an installation by its path and content. */
export function installedFile(path, content) {
  return { path, content, mode: EXECUTABLE.test(path) ? 0o755 : 0o644, mtime: timeFor(content) };
}

/** The times of files, in seconds: the beginning of 2020 is the first, and their range is a little more than four years. */
const [FIRST_TIME, TIME_RANGE] = [Date.UTC(2020) / 1000, 2 ** 27];

/**
 * The time of a file follows from its content, so that the bytes of an archive do not depend on the day of the build. One time for
 * all files would be wrong: the ETag of a page consists of its size and its time, so a browser would keep the page of an older
 * version.
 */
function timeFor(content) {
  return FIRST_TIME + (createHash('sha256').update(content).digest().readUInt32BE() % TIME_RANGE);
}

/** The paths of the files in a folder, relative to it. If `name` is a file, the only path is empty. */
function filesBelow(name) {
  const folder = join(root, name);
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
  } catch (error) {
    if (error.code === 'ENOTDIR') return [''];
    throw error;
  }
}
