import { setTimeout as pause } from 'node:timers/promises';
import { withClient } from '../load/database.mjs';
import { endProcess } from '../load/processes.mjs';
import { quantile, measureTime } from '../measure.mjs';
import { runRetention } from '../retention/run-retention.mjs';
import { makeTelemetry } from './telemetry-rows.mjs';

const DAY_MS = 86_400_000;
const LICENSES = 100_000;
/** The number of activations that the load uses. */
const SAMPLE_SIZE = 20_000;
/** Requests a second of each kind: a small part of what the machine can answer. */
const RATES = { heartbeat: 200, telemetry: 200 };
/** How long each round measures heartbeats without a retention run. */
const WITHOUT_RUN_MS = 20_000;
/** A pause after the rows of a round were inserted, so that the effects of the insert are not measured. */
const SETTLE_MS = 3_000;
/** The largest number of rounds, also if `--rounds` is higher: a round takes about a minute. */
const MAX_ROUNDS = 5;

/**
 * Measures how a large retention run affects heartbeats, which are sent at a steady rate. Each round measures them without
 * the run first, and then during the run.
 */
export async function measureRetentionUnderLoad(environment, { due, rounds }) {
  const { makeDatabase } = await import('./data.mjs');
  const { url, data } = await makeDatabase(environment, 'growth_retention', LICENSES, SAMPLE_SIZE);
  const server = await environment.processes.startService(data.settings);
  const load = environment.processes.startLoad(data.file, 'steady.mjs');
  try {
    await load({ begin: { port: server.port, rates: RATES } });
    const results = [];
    for (let round = 1; round <= Math.min(rounds, MAX_ROUNDS); round += 1) {
      environment.progress(`retention under load, round ${round}`);
      await withClient(url, (client) => makeRowsToProcess(url, client, due));
      results.push(await measureRound(url, load));
    }
    return { due, rates: RATES, withoutRunMs: WITHOUT_RUN_MS, rounds: results };
  } finally {
    await endProcess(server.child);
  }
}

async function measureRound(url, load) {
  await pause(SETTLE_MS);
  await load({ collect: true });
  await pause(WITHOUT_RUN_MS);
  const without = combineKinds(await load({ collect: true }));
  const { ms, result } = await measureTime(() => runRetention(url));
  const during = combineKinds(await load({ collect: true }));
  return { ms, without, during, ratio: during.p99 / without.p99, deleted: result.deleted };
}

/** Combines the results of all kinds of requests. */
function combineKinds({ kinds }) {
  const results = Object.values(kinds);
  const times = results.flatMap((kind) => kind.times).toSorted((a, b) => a - b);
  const wrongCounts = results.flatMap((kind) => Object.entries(kind.wrongByStatus));
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99), wrongCounts };
}

/**
 * Makes the rows that the run processes: telemetry of one whole month and of days of the next one, ended activations,
 * an inbox with rows of yesterday, and a week that is not rolled up yet.
 */
async function makeRowsToProcess(url, client, rows) {
  const { withMaintenanceConnection } = await import('../../dist/database/data-source.js');
  const { createPartitions } = await import('../../dist/telemetry/partitions.js');
  const now = new Date();
  const first = new Date(Date.UTC(now.getUTCFullYear() - 2, now.getUTCMonth() - 1, 1));
  const end = new Date(Date.UTC(now.getUTCFullYear() - 2, now.getUTCMonth(), now.getUTCDate()));
  await withMaintenanceConnection(url, async (dataSource) => {
    const runner = dataSource.createQueryRunner();
    await createPartitions(runner, first, now);
    await makeTelemetry(runner, { rows, seed: 1, first, end }, () => undefined);
    await runner.release();
  });
  const yesterday = new Date(now.getTime() - DAY_MS).toISOString().slice(0, 10);
  await client.query(`create temp table inbox_rows as select * from telemetry limit ${Math.ceil(rows / 4)}`);
  await client.query(`update inbox_rows set id = gen_random_uuid(), received_on = '${yesterday}'`);
  await client.query('insert into telemetry_inbox select * from inbox_rows');
  await client.query('drop table inbox_rows');
  await client.query(INSERT_ENDED_ACTIVATIONS, [Math.ceil(rows / 20)]);
  // `fleet_week` names a week by its last day, a Sunday. The week before last is rolled up, so exactly one completed week is left.
  await client.query(
    `truncate fleet_week cascade; insert into fleet_week values (date_trunc('week', current_date)::date - 8)`,
  );
  await client.query('vacuum analyze');
  await client.query('checkpoint');
}

const INSERT_ENDED_ACTIVATIONS = `
  insert into activation (id, license_id, machine_id, app_version, activated_at, ended_at, ended_reason)
  select gen_random_uuid(), license_id, machine_id, app_version, activated_at, now() - interval '13 months', 'released'
  from activation where ended_at is null limit $1`;
