// How fast the service answers, beside servers that do the same work otherwise: npm run bench [-- --rounds N]
// [--seconds N] [--connections N] [--seats N] [--only ROW[,ROW]] [--profile FOLDER] [--write]. Starts everything itself and
// leaves nothing behind.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { Fault } from '../scripts/prepare.mjs';
import { benchCommand } from './bench-command.mjs';
import { report } from './bench-report.mjs';
import { ROWS } from './load/rows.mjs';

const RESULTS = new URL('results.md', import.meta.url);

await benchCommand(import.meta.url, parseOptions, run);

function parseOptions() {
  const text = (value) => ({ type: 'string', default: value });
  const { values } = parseArgs({
    options: {
      rounds: text('5'),
      seconds: text('3'),
      connections: text('64'),
      seats: text('10000'),
      only: text(Object.keys(ROWS).join(',')),
      profile: { type: 'string' },
      write: { type: 'boolean' },
    },
  });
  const { rounds, seconds, connections, seats } = values;
  const numbers = Object.fromEntries(
    Object.entries({ rounds, seconds, connections, seats }).map(([name, value]) => [name, Number(value)]),
  );
  if (!Object.values(numbers).every((number) => Number.isInteger(number) && number > 0))
    throw new Fault('--rounds, --seconds, --connections and --seats want a whole number above 0.');
  if (numbers.seats < 2) throw new Fault('--seats must be at least 2.');
  const only = values.only.split(',');
  const unknown = only.find((row) => !Object.hasOwn(ROWS, row));
  if (unknown) throw new Fault(`--only knows ${Object.keys(ROWS).join(', ')}.`);
  return { ...numbers, only, profile: values.profile && resolve(values.profile), write: values.write };
}

async function run(options) {
  let interrupt;
  const interrupted = new Promise((_, reject) => (interrupt = () => reject(new Fault('Interrupted.'))));
  interrupted.catch(() => {});
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, interrupt);
  const { startEmbeddedPostgres } = await import('../dist/database/embedded-postgres.js');
  const { Processes } = await import('./load/processes.mjs');
  const folder = mkdtempSync(join(tmpdir(), 'mooring-bench-'));
  const processes = new Processes();
  let server;
  try {
    server = await startEmbeddedPostgres(join(folder, 'data'));
    const figures = await Promise.race([
      measureAll({ url: server.url, folder, processes }, options),
      interrupted,
    ]);
    const { format } = await import('prettier');
    const text = await format(report(figures, options), { parser: 'markdown' });
    if (options.write) writeFileSync(RESULTS, text + written());
    process.stdout.write(text);
    return 0;
  } finally {
    await processes.end();
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What a person wrote below the figures stays. */
function written() {
  const page = existsSync(RESULTS) ? readFileSync(RESULTS, 'utf8') : '';
  const start = page.indexOf('\n## Where the time goes');
  return start < 0 ? '' : page.slice(start);
}

async function measureAll({ url, folder, processes }, options) {
  const { migrate } = await import('../dist/database/migrations.js');
  const { makeData } = await import('./load/data.mjs');
  const { checkAnswers } = await import('./load/checks.mjs');
  const { measureRows } = await import('./load/measure-rows.mjs');
  const { askDatabase } = await import('./load/pgbench.mjs');
  const { versionOf } = await import('./measure.mjs');
  const began = Date.now();
  const progress = (what) =>
    console.error(`${String(Math.round((Date.now() - began) / 1000)).padStart(5)} s  ${what}`);
  progress('data');
  await migrate(url);
  const data = await makeData(url, folder, options.seats);
  progress('servers, and whether they answer rightly');
  const flags = options.profile ? ['--cpu-prof', `--cpu-prof-dir=${options.profile}`] : [];
  const rival = { ...data.settings, FLOOR_BODY: data.manifest };
  const servers = [
    await processes.service(data.settings, flags),
    await processes.rival('plain', 'plain.mjs', rival),
    await processes.rival('idiomatic', 'idiomatic.ts', rival),
    await processes.rival('floor', 'floor.mjs', rival),
  ];
  const live = await fetch(`http://127.0.0.1:${servers[0].port}/v1/manifest`);
  const etag = live.headers.get('etag');
  await checkAnswers(servers, { ...data, etag });
  const load = processes.load(data.file);
  const rows = await measureRows(options.only, servers, load, { ...options, etag, progress });
  progress('the database alone');
  const database = await askDatabase(url, folder, options);
  return { version: await versionOf(url), rows, database };
}
