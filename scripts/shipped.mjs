// The third-party packages that a release contains, read from the lock file alone: no network, nothing installed.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './prepare.mjs';

const FOLDER = 'node_modules/';
/** `from 'preact/hooks'`, `import 'uplot/dist/uPlot.min.css'`: imports of packages, not relative imports. */
const IMPORTED = /(?:\bfrom|\bimport|\bimport\()\s*'((?:@[\w.-]+\/)?[\w-][\w.-]*)(?:\/[^']*)?'/g;

/** A dependency by its path in the lock file, with its name, and `name@version` as its id. */
function read() {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  return new Map(
    Object.entries(packages)
      .filter(([path, { link }]) => path.includes(FOLDER) && !link)
      .map(([path, entry]) => {
        const name = entry.name ?? path.slice(path.lastIndexOf(FOLDER) + FOLDER.length);
        return [path, { ...entry, path, name, id: `${name}@${entry.version}` }];
      }),
  );
}

/** Every package of the lock file, by its path there. */
export const locked = read();

/** The packages that the pages import; the build bundles them, so they reach browsers though nothing installs them. */
export function importedByPages() {
  const sources = readdirSync(join(root, 'web'), { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile() && /\.tsx?$/.test(file.name))
    .map((file) => join(file.parentPath, file.name))
    .filter((path) => !path.startsWith(join(root, 'web/dist')));
  const names = sources.flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(IMPORTED)].map(([, name]) => name),
  );
  return [...new Set(names)].toSorted();
}

/** The packages that come along with these names, themselves included: their dependencies, and peers they cannot do without. */
export function closure(names) {
  const found = new Set(names.map((name) => locked.get(FOLDER + name)));
  for (const entry of found) {
    const optionalPeer = (name) => entry.peerDependenciesMeta?.[name]?.optional;
    const peers = Object.keys(entry.peerDependencies ?? {}).filter((name) => !optionalPeer(name));
    for (const name of [...Object.keys(entry.dependencies ?? {}), ...peers])
      found.add(nearest(name, entry.path));
  }
  return found;
}

/** Where Node finds the package of that name, seen from another: inside of it, or beside it, or further out. */
function nearest(name, from) {
  for (let at = from; ; at = at.slice(0, at.lastIndexOf(`/${FOLDER}`))) {
    const found = locked.get(`${at}/${FOLDER}${name}`);
    if (found) return found;
    if (!at.includes(`/${FOLDER}`)) return locked.get(FOLDER + name);
  }
}

/**
 * What a release holds: what `npm ci --omit=dev --omit=optional` installs for the service, as the Dockerfile does, and
 * what the pages bundle.
 * @returns by `name@version`, in that order; `where` says whether the service or the pages hold it
 */
export function shipped() {
  const service = [...locked.values()].filter((entry) => !(entry.dev || entry.optional || entry.devOptional));
  const pages = closure(importedByPages());
  const entries = [
    ...service.map((entry) => [entry.id, { ...entry, where: 'service' }]),
    ...[...pages].map((entry) => [entry.id, { ...entry, where: 'pages' }]),
  ];
  return new Map(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
