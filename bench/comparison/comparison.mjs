// Compares the throughput of the service with that of other servers that do the same work: npm run bench [-- --rounds N]
// [--seconds N] [--connections N] [--seats N] [--only ROW[,ROW]] [--profile FOLDER] [--write]. It starts and ends every
// process itself and removes its files.
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { Fault } from '../../scripts/prepare.mjs';
import { option, wholeNumbers } from '../command.mjs';
import { report } from './report.mjs';
import { pageBench, versionOf } from '../run.mjs';
import { ROWS } from '../load/rows.mjs';

/** Rows that only the service answers have nothing to be compared with. */
const COMPARED = Object.keys(ROWS).filter((row) => ROWS[row].servers.length > 1);

await pageBench(import.meta.url, { page: 'results.md', parseOptions, measureAll, report });

function parseOptions() {
  const { values } = parseArgs({
    options: {
      rounds: option('5'),
      seconds: option('3'),
      connections: option('64'),
      seats: option('10000'),
      only: option(COMPARED.join(',')),
      profile: { type: 'string' },
      write: { type: 'boolean' },
    },
  });
  const { rounds, seconds, connections, seats } = values;
  const numbers = wholeNumbers({ rounds, seconds, connections, seats });
  if (numbers.seats < 2) throw new Fault('--seats must be at least 2.');
  const only = values.only.split(',');
  const unknown = only.find((row) => !COMPARED.includes(row));
  if (unknown) throw new Fault(`--only must name rows of ${COMPARED.join(', ')}.`);
  return { ...numbers, only, profile: values.profile && resolve(values.profile), write: values.write };
}

async function measureAll({ url, folder, processes, progress }, options) {
  const { migrate } = await import('../../dist/database/migrations.js');
  const { makeData, seatIds } = await import('../load/data.mjs');
  const { checkAnswers } = await import('../load/checks.mjs');
  const { measureRows } = await import('../load/measure-rows.mjs');
  const { askDatabase } = await import('../load/pgbench.mjs');
  progress('data');
  await migrate(url);
  const data = await makeData(url, folder, seatIds(options.seats));
  progress('servers start, and their answers are checked');
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
  const asked = options.only.map((row) => ({
    row,
    servers: servers.filter(({ name }) => ROWS[row].servers.includes(name)),
  }));
  const rows = await measureRows(asked, load, { ...options, etag, progress });
  progress('the database without a server');
  const database = await askDatabase(url, folder, options);
  return { version: await versionOf(url), rows, database };
}
