import { globSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { ScriptError } from '../scripts/prepare.mjs';
import { AREAS } from './areas.mjs';
import { changedLines } from './changed-lines.mjs';

/** @returns the files that match the patterns; a pattern with "!" excludes files */
export function filesOf(root, patterns) {
  const matching = (list) => list.flatMap((pattern) => globSync(pattern, { cwd: root }));
  const excluded = new Set(
    matching(patterns.filter((pattern) => pattern.startsWith('!')).map((pattern) => pattern.slice(1))),
  );
  return [...new Set(matching(patterns.filter((pattern) => !pattern.startsWith('!'))))]
    .filter((file) => !excluded.has(file))
    .toSorted();
}

/**
 * Selects what to mutate: the lines that differ from the commit `since`, the files that `paths` name, or else all files. `area`
 * limits the selection to the areas that it names.
 * @param directory the one to which `paths` are relative
 * @returns the areas with something to mutate, each with its targets for Stryker @throws ScriptError for a name or a path that
 *   selects nothing, which is probably mistyped
 */
export function selectTargets(root, directory, { since, area: names, paths }) {
  const unknown = names?.find((name) => !Object.hasOwn(AREAS, name));
  if (unknown !== undefined)
    throw new ScriptError(
      `--area ${unknown} is not an area of mutation/areas.mjs: ${Object.keys(AREAS).join(', ')}.`,
    );
  if (since !== undefined && paths.length > 0)
    throw new ScriptError('--since selects lines of all files: leave out --since, or the paths.');
  const areas = Object.entries(AREAS)
    .filter(([name]) => !names || names.includes(name))
    .map(([name, area]) => ({ name, area, targets: filesOf(root, area.mutate) }));
  if (since !== undefined) return withTargets(areas, linesSince(since, root));
  if (paths.length === 0) return areas;
  const named = paths.map((path) => relative(root, resolve(directory, path)));
  const isIn = (path) => (file) => path === '' || file === path || file.startsWith(`${path}/`);
  const files = areas.flatMap(({ targets }) => targets);
  const missing = paths.find((_path, index) => !files.some(isIn(named[index])));
  if (missing !== undefined) throw new ScriptError(`No selected area mutates ${missing}.`);
  return withTargets(areas, (file) => (named.some((path) => isIn(path)(file)) ? [file] : []));
}

/** @returns a function that returns the lines of a file that differ from a commit, as targets for Stryker */
function linesSince(commit, root) {
  const changed = changedLines(commit, root);
  return (file) => (changed.get(file) ?? []).map(([from, to]) => `${file}:${from}-${to}`);
}

const withTargets = (areas, targetsOf) =>
  areas
    .map((area) => ({ ...area, targets: area.targets.flatMap(targetsOf) }))
    .filter(({ targets }) => targets.length > 0);
