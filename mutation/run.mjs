// npm run mutation: makes small changes to the sources and checks that a test fails for each (CONTRIBUTING.md, "Mutation").
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Stryker } from '@stryker-mutator/core';
import { command } from '../scripts/prepare.mjs';
import { entryOf, isListed, readSurvivors, scoreOf, tableRow } from './survivors.mjs';
import { filesOf, selectTargets } from './targets.mjs';

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

/** Runs Stryker for an area. */
async function mutate(name, { tests, hasDatabase }, targets) {
  const began = performance.now();
  const results = await new Stryker({
    mutate: targets,
    testRunner: 'mooring',
    plugins: [plugin('runner.mjs'), plugin('ignore.mjs'), plugin('reporter.mjs')],
    ignorers: ['texts'],
    mutator: { plugins: ['decorators-legacy'] },
    mooring: {
      tests: filesOf(root, tests),
      // Modules that call mutated code when they are loaded, for example in decorators. They are loaded before the tests,
      // because this code runs once in a process and belongs to no test.
      alsoLoad: hasDatabase ? ['src/app.module.ts'] : [],
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
    // The limit for a test run that never ends. Endless loops in mutated code end earlier: Stryker counts their iterations.
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
  const areas = selectTargets(root, process.env.INIT_CWD ?? root, { ...values, paths: positionals });
  if (areas.length === 0) {
    console.log('Nothing to mutate.');
    return 0;
  }
  const tearDown = areas.some(({ area }) => area.hasDatabase) ? await startDatabase() : undefined;
  let hasFailed = false;
  try {
    for (const { name, area, targets } of areas) {
      const { results, minutes } = await mutate(name, area, targets);
      const readLines = (file) => readFileSync(join(root, file), 'utf8').split('\n');
      const surviving = results
        .filter(({ status }) => status === 'Survived' || status === 'NoCoverage')
        .map((mutant) => ({
          ...entryOf(mutant, root, readLines),
          status: mutant.status,
          line: mutant.location.start.line,
        }));
      const unlisted = surviving.filter((entry) => !isListed(entry, survivors));
      for (const { file, line, mutator, original, replacement, status } of unlisted)
        console.log(`${file}:${line} ${mutator} ${status}\n-   ${original}\n+   ${replacement}`);
      writeFileSync(join(root, `mutation/reports/${name}.unlisted.json`), JSON.stringify(unlisted, null, 2));
      const score = scoreOf(results);
      console.log(tableRow(name, results, minutes));
      const isFullRun = !values.since && positionals.length === 0;
      if (unlisted.length > 0 || (isFullRun && score < area.minimum)) hasFailed = true;
    }
  } finally {
    await tearDown?.();
  }
  return hasFailed ? 1 : 0;
}

async function startDatabase() {
  const { default: setUp } = await import('../test/support/runner/global-setup.mjs');
  await setUp();
  return globalThis.tearDownPostgres;
}

process.chdir(root);
await command(main);
