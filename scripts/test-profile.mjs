// npm test -- --profile: formats how long the parts of a test run took, as tables.
import { readFileSync } from 'node:fs';

const FILES_SHOWN = 25;

/**
 * @param file lines of JSON, one for each test file and one for PostgreSQL (`test/support/runner/profile.mjs`)
 * @returns two tables as text: the totals, also of each kind of work (such as `starting a service`), and the files with most
 *   processor time
 */
export function profileTables(file) {
  const lines = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const files = lines.filter(({ path }) => path);
  const postgres = lines.find((line) => line.postgres)?.postgres ?? 0;
  const sum = (valueOf) => files.reduce((total, file) => total + valueOf(file), 0);
  const kinds = new Map();
  for (const { kinds: ofFile } of files)
    for (const [kind, { count, milliseconds }] of Object.entries(ofFile)) {
      const known = kinds.get(kind) ?? { count: 0, seconds: 0 };
      kinds.set(kind, { count: known.count + count, seconds: known.seconds + milliseconds / 1000 });
    }
  const all = [
    ['all test files', files.length, sum(({ seconds }) => seconds)],
    ['processor time of the workers', '', sum(({ own }) => own)],
    ['processor time of child processes', '', sum(({ children }) => children)],
    ['processor time of PostgreSQL', '', postgres],
    ...[...kinds]
      .toSorted(([, a], [, b]) => b.seconds - a.seconds)
      .map(([kind, { count, seconds }]) => [kind, count, seconds]),
  ];
  const busiestFiles = files
    .toSorted((a, b) => b.own + b.children - a.own - a.children)
    .slice(0, FILES_SHOWN);
  const peak = Math.max(...files.map(({ rss }) => rss));
  return [
    'Seconds are added up over all workers. Except for processor time, they include waiting, and work that runs at the same time is counted several times.',
    table(['what', 'count', 'seconds'], all),
    `Most memory of a worker after a file: ${Math.round(peak / 1e6)} MB.`,
    table(
      ['file', 'seconds', 'processor seconds', 'of these, child processes'],
      busiestFiles.map(({ path, seconds, own, children }) => [
        path.replace(/^.*\/test\//, 'test/'),
        seconds,
        own + children,
        children,
      ]),
    ),
  ].join('\n\n');
}

function table(head, rows) {
  const texts = [head, ...rows].map((row) =>
    row.map((cell) => (Number.isInteger(cell) || typeof cell === 'string' ? String(cell) : cell.toFixed(1))),
  );
  const widths = head.map((_, i) => Math.max(...texts.map((row) => row[i].length)));
  const line = (row) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join('  ');
  return texts.map(line).join('\n');
}
