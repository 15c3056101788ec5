// Finds the third-party packages that a release contains, from the lock file and the imports of the pages. This needs no
// network and no installation.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './prepare.mjs';

const FOLDER = 'node_modules/';
/** Matches imports of packages, such as `from 'preact/hooks'` or `import 'uplot/dist/uPlot.min.css'`, and no relative ones. */
const PACKAGE_IMPORT = /(?:\bfrom|\bimport|\bimport\()\s*'((?:@[\w.-]+\/)?[\w-][\w.-]*)(?:\/[^']*)?'/g;

/** Reads the packages of the lock file by path, each with its name and the id `name@version`. */
function readLockFile() {
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

/** Every package of the lock file, by its path in it. */
export const locked = readLockFile();

/**
 * Finds the packages that the pages import: the build bundles them, so browsers get them although a release does not install
 * them.
 */
export function importedByPages() {
  const sources = readdirSync(join(root, 'web'), { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile() && /\.tsx?$/.test(file.name))
    .map((file) => join(file.parentPath, file.name))
    .filter((path) => !path.startsWith(join(root, 'web/dist')));
  const names = sources.flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(PACKAGE_IMPORT)].map(([, name]) => name),
  );
  return [...new Set(names)].toSorted();
}

/** Finds these packages and everything that they need: their dependencies and required peers, recursively. */
export function closure(names) {
  const found = new Set(names.map((name) => locked.get(FOLDER + name)));
  for (const entry of found) {
    const isOptionalPeer = (name) => entry.peerDependenciesMeta?.[name]?.optional;
    const peers = Object.keys(entry.peerDependencies ?? {}).filter((name) => !isOptionalPeer(name));
    for (const name of [...Object.keys(entry.dependencies ?? {}), ...peers])
      found.add(resolvePackage(name, entry.path));
  }
  return found;
}

/** Resolves a package name as Node does: in the node_modules of the importing package, or of a folder above it. */
function resolvePackage(name, from) {
  for (let at = from; ; at = at.slice(0, at.lastIndexOf(`/${FOLDER}`))) {
    const found = locked.get(`${at}/${FOLDER}${name}`);
    if (found) return found;
    if (!at.includes(`/${FOLDER}`)) return locked.get(FOLDER + name);
  }
}

/** Lists the packages that the service loads: what `npm ci --omit=dev --omit=optional` installs, as entries of the lock file. */
const servicePackages = () =>
  [...locked.values()].filter((entry) => !(entry.dev || entry.optional || entry.devOptional));

/**
 * Lists the packages in a release: those that the service loads, and what the pages bundle.
 * @returns the packages by `name@version`, sorted; `where` is `service` or `pages`
 */
export function releasedPackages() {
  const pages = closure(importedByPages());
  const entries = [
    ...servicePackages().map((entry) => [entry.id, { ...entry, where: 'service' }]),
    ...[...pages].map((entry) => [entry.id, { ...entry, where: 'pages' }]),
  ];
  return new Map(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
