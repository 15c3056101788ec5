// npm run mutation: sees whether a test notices each small change of the sources (CONTRIBUTING.md, "Mutation").
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Stryker } from '@stryker-mutator/core';
import { AREAS } from './areas.mjs';
import { changedLines } from './changed-lines.mjs';
import { entryOf, isListed, readSurvivors, scoreOf, tableOf } from './survivors.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const plugin = (name) => fileURLToPath(new URL(name, import.meta.url));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    since: { type: 'string' },
    area: { type: 'string', multiple: true },
    concurrency: { type: 'string', default: '1' },
  },
});
const directory = mkdtempSync(join(tmpdir(), 'mooring-mutation-'));
process.once('exit', () => rmSync(directory, { recursive: true, force: true }));

/** Files that a pattern list names; a pattern that begins with "!" takes files out. */
function filesOf(patterns) {
  const named = (wanted) => wanted.flatMap((pattern) => globSync(pattern, { cwd: root }));
  const out = new Set(
    named(patterns.filter((pattern) => pattern.startsWith('!')).map((pattern) => pattern.slice(1))),
  );
  return [...new Set(named(patterns.filter((pattern) => !pattern.startsWith('!'))))]
    .filter((file) => !out.has(file))
    .toSorted();
}

/** What is to be mutated in an area: files, or lines of files. */
function wantedOf(files) {
  if (values.since) {
    const changed = changedLines(values.since, root);
    return files.flatMap((file) => (changed.get(file) ?? []).map(([from, to]) => `${file}:${from}-${to}`));
  }
  const named = positionals.map((path) => relative(root, join(process.env.INIT_CWD ?? process.cwd(), path)));
  return named.length === 0
    ? files
    : files.filter((file) => named.some((path) => file === path || file.startsWith(`${path}/`)));
}

async function mutate(name, { tests, hasDatabase }, wanted) {
  const began = performance.now();
  const results = await new Stryker({
    mutate: wanted,
    testRunner: 'mooring',
    plugins: [plugin('runner.mjs'), plugin('ignore.mjs'), plugin('reporter.mjs')],
    ignorers: ['texts'],
    mutator: { plugins: ['decorators-legacy'] },
    mooring: {
      tests: filesOf(tests),
      // What other modules call at load (decorators, say) runs once in a process, too, and belongs to no test.
      loaded: hasDatabase ? ['src/app.module.ts'] : [],
      state: join(directory, `${name}.json`),
      verdicts: join(root, `mutation/reports/${name}.jsonl`),
    },
    coverageAnalysis: 'perTest',
    checkers: [],
    reporters: [
      'mooring',
      'json',
      'html',
      ...(process.stdout.isTTY ? ['progress'] : ['progress-append-only']),
    ],
    jsonReporter: { fileName: `mutation/reports/${name}.json` },
    htmlReporter: { fileName: `mutation/reports/${name}.html` },
    tempDirName: 'mutation/.sandbox',
    ignorePatterns: ['mutation/reports', 'data', 'coverage', '.git'],
    disableTypeChecks: false,
    concurrency: Number(values.concurrency),
    // Guards against what never ends, and no measure: endless loops end by a count of their turns.
    timeoutMS: 60_000,
    timeoutFactor: 5,
    dryRunTimeoutMinutes: 120,
    allowEmpty: true,
    logLevel: 'warn',
    warnings: { unknownOptions: false },
  }).runMutationTest();
  return { name, results, minutes: (performance.now() - began) / 60_000 };
}

async function main() {
  const survivors = readSurvivors();
  const areas = Object.entries(AREAS)
    .filter(([name]) => !values.area || values.area.includes(name))
    .map(([name, area]) => ({ name, area, wanted: wantedOf(filesOf(area.mutate)) }))
    .filter(({ wanted }) => wanted.length > 0);
  if (areas.length === 0) {
    console.log('Nothing to mutate.');
    return 0;
  }
  const tearDown = areas.some(({ area }) => area.hasDatabase) ? await startDatabase() : undefined;
  let failed = false;
  try {
    for (const { name, area, wanted } of areas) {
      const { results, minutes } = await mutate(name, area, wanted);
      const lines = (file) => readFileSync(join(root, file), 'utf8').split('\n');
      const alive = results
        .filter(({ status }) => status === 'Survived' || status === 'NoCoverage')
        .map((mutant) => ({
          ...entryOf(mutant, root, lines),
          status: mutant.status,
          line: mutant.location.start.line + 0,
        }));
      const unlisted = alive.filter((entry) => !isListed(entry, survivors));
      for (const { file, line, mutator, original, replacement, status } of unlisted)
        console.log(`${file}:${line} ${mutator} ${status}\n-   ${original}\n+   ${replacement}`);
      writeFileSync(join(root, `mutation/reports/${name}.unlisted.json`), JSON.stringify(unlisted, null, 2));
      const score = scoreOf(results);
      console.log(tableOf(name, results, minutes));
      const isWhole = !values.since && positionals.length === 0;
      if (unlisted.length > 0 || (isWhole && score < area.minimum)) failed = true;
    }
  } finally {
    await tearDown?.();
  }
  return failed ? 1 : 0;
}

async function startDatabase() {
  const { default: setUp } = await import('../test/support/runner/global-setup.mjs');
  await setUp();
  return globalThis.tearDownPostgres;
}

process.chdir(root);
process.exitCode = await main();
