import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

/** @returns the mutants that no test can or should detect, each with the reason (survivors.json) */
export const readSurvivors = () =>
  JSON.parse(readFileSync(new URL('survivors.json', import.meta.url), 'utf8'));

/** Describes a mutant by the text of its source, because line numbers change. @param readLines returns the lines of a file */
export function entryOf({ fileName, mutatorName, location: { start, end }, replacement }, root, readLines) {
  const file = relative(root, fileName);
  const lines = readLines(file);
  const within = lines.slice(start.line - 1, end.line);
  const last = within.length - 1;
  within[last] = within[last].slice(0, end.column - 1);
  within[0] = within[0].slice(start.column - 1);
  return {
    file,
    mutator: mutatorName,
    in: lines[start.line - 1].trim(),
    original: within.join('\n'),
    replacement,
  };
}

/** Whether survivors.json has an entry for a mutant. */
export const isListed = (entry, survivors) =>
  survivors.some((listed) =>
    ['file', 'mutator', 'in', 'original', 'replacement'].every((member) => listed[member] === entry[member]),
  );

const count = (results, ...statuses) => results.filter(({ status }) => statuses.includes(status)).length;

/** @returns the percentage of mutants that a test detects, of all that are not ignored and could be run */
export function scoreOf(results) {
  const detected = count(results, 'Killed', 'Timeout');
  const all = detected + count(results, 'Survived', 'NoCoverage');
  return all === 0 ? 100 : (100 * detected) / all;
}

/**
 * Formats the results of an area as a row for the table of results.md. Unlike the rows there, it has the columns of errors and of
 * ignored mutants, and it lacks the last column, `state`.
 */
export function tableRow(name, results, minutes) {
  const row = [
    name,
    results.length - count(results, 'Ignored'),
    count(results, 'Killed'),
    count(results, 'Survived'),
    count(results, 'NoCoverage'),
    count(results, 'Timeout'),
    count(results, 'RuntimeError', 'CompileError'),
    count(results, 'Ignored'),
    `${scoreOf(results).toFixed(1)} %`,
    minutes.toFixed(1),
  ];
  return `| ${row.join(' | ')} |`;
}
