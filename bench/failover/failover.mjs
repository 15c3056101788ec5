// Measures the loss of the primary under load: npm run bench:failover [-- --rounds N] [--rate N] [--write]. In each round the
// primary of a Patroni cluster, with its Patroni, is killed or stopped (SIGSTOP), while clients activate and send heartbeats.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { node24, root, SERVICE_FLAGS } from '../../scripts/prepare.mjs';
import { readBenchOptions } from '../command.mjs';
import { query } from '../load/database.mjs';
import {
  describeLoad,
  describeMachine,
  formatCount,
  formatTime,
  reachedOrMissed,
  table,
} from '../measure.mjs';
import { postgresVersion, runPageBench } from '../run.mjs';
import { HEARTBEATS_PER_ACTIVATION, isRight, isWrite, Load } from './load.mjs';
import { findTools, PATRONI_SECONDS, PatroniCluster, waitFor } from './patroni.mjs';

const NODES = 2;
const INSTANCES = 2;
/** How long the load lasts before the loss of the primary, and again after the first acknowledged write. */
const STEADY_MS = 3_000;
/** The goal for the time from the loss of the primary to the first acknowledged write. */
const MAX_FIRST_WRITE_MS = 10_000;
const MACHINES_ALLOWED = 100_000;

/** How a primary is lost, and how its machine returns. */
const FAULTS = {
  killed: {
    lose: (cluster, node) => cluster.signal(node, 'SIGKILL'),
    restore: (cluster, node) => cluster.startNode(node),
  },
  // After SIGCONT the former primary accepts writes, until its Patroni notices that another server has the lock.
  stopped: {
    lose: (cluster, node) => cluster.signal(node, 'SIGSTOP'),
    restore: (cluster, node) => cluster.signal(node, 'SIGCONT'),
  },
};

const parseOptions = () => ({ ...readBenchOptions({ rounds: 3, rate: 20 }), tools: findTools() });

await runPageBench(import.meta.url, { page: 'failover.md', parseOptions, measureAll, report });

async function measureAll({ folder, processes, progress }, { rounds, rate, tools }) {
  const cluster = new PatroniCluster(tools);
  try {
    progress('starting etcd and Patroni');
    await cluster.start(NODES);
    const settings = {
      NODE_ENV: 'development',
      DATA_DIR: join(folder, 'service'),
      DATABASE_URL: cluster.url,
      DATABASE_READ_URL: cluster.url,
    };
    const services = [];
    for (let index = 0; index < INSTANCES; index += 1) services.push(await processes.startService(settings));
    const load = new Load(
      services.map(({ port }) => `http://127.0.0.1:${port}`),
      await issueLicense(settings),
      rate,
    );
    await load.start();
    const results = [];
    try {
      for (const [fault, { lose, restore }] of Object.entries(FAULTS))
        for (let round = 1; round <= rounds; round += 1) {
          results.push({ fault, ...(await measureLoss(cluster, load, lose, restore)) });
          progress(`${fault}: first write after ${formatTime(results.at(-1).firstWriteMs)}`);
        }
    } finally {
      await load.stop();
    }
    const primary = await cluster.primary();
    const rows = await query(cluster.urlOf(primary), 'select id from activation');
    const stored = new Set(rows.map(({ id }) => id));
    return {
      results,
      answers: load.answers,
      lost: load.acknowledged.filter((id) => !stored.has(id)).length,
      acknowledged: load.acknowledged.length,
      version: await postgresVersion(cluster.urlOf(primary)),
    };
  } finally {
    await cluster.end();
  }
}

async function measureLoss(cluster, load, lose, restore) {
  await cluster.waitForStandby();
  await pause(STEADY_MS);
  const primary = await cluster.primary();
  lose(cluster, primary);
  const lostAt = performance.now();
  const promoted = waitForPromotion(cluster, primary).then(() => performance.now());
  // Its failure is thrown below. Until then it must not end the process, because the cluster would go on.
  promoted.catch(() => undefined);
  let first;
  await waitFor(() => (first = load.answers.find((each) => isWrite(each) && each.sentAt >= lostAt)));
  restore(cluster, primary);
  await pause(STEADY_MS);
  const duringOutage = load.answers.filter(
    ({ name, sentAt }) => name === 'heartbeat' && sentAt >= lostAt && sentAt < first.answeredAt,
  );
  return {
    firstWriteMs: first.answeredAt - lostAt,
    promotedMs: (await promoted) - lostAt,
    heartbeats: duringOutage.length,
    confirmed: duringOutage.filter(({ status }) => status === 200).length,
  };
}

/** Waits until a server other than the lost one is a primary. */
async function waitForPromotion(cluster, lost) {
  const others = cluster.nodes.filter((node) => node !== lost).map((node) => cluster.urlOf(node));
  const isPrimary = (url) =>
    query(url, 'select where not pg_is_in_recovery()').then(({ length }) => length > 0);
  await waitFor(async () =>
    (await Promise.all(others.map((url) => isPrimary(url).catch(() => false)))).includes(true),
  );
}

/** Issues a license with the command line, which finds the primary itself. */
async function issueLicense(settings) {
  const run = promisify(execFile);
  const args = [...SERVICE_FLAGS, join(root, 'dist/cli.js'), 'license', 'issue', '--json'];
  const license = ['--email', 'ada@example.com', '--machines', String(MACHINES_ALLOWED)];
  const { stdout } = await run(node24(), [...args, ...license], {
    env: { PATH: process.env.PATH, ...settings },
  });
  return { license_key: JSON.parse(stdout).license_key, email: 'ada@example.com' };
}

function report({ results, answers, lost, acknowledged, version }, { rate }) {
  const wrong = answers.filter((each) => !isRight(each)).length;
  const slowest = Math.max(...results.map(({ firstWriteMs }) => firstWriteMs));
  const rows = results.map(({ fault, firstWriteMs, promotedMs, heartbeats, confirmed }) => [
    fault,
    formatTime(promotedMs),
    formatTime(firstWriteMs),
    `${confirmed} of ${heartbeats}`,
  ]);
  const { ttl, loop_wait, retry_timeout } = PATRONI_SECONDS;
  return `# Failover

What happens when the primary is lost under load? Written by \`npm run bench:failover -- --write\`.

${NODES} servers under Patroni with synchronous replication (\`ttl\` ${ttl}, \`loop_wait\` ${loop_wait}, \`retry_timeout\` ${retry_timeout}) and etcd; ${INSTANCES} instances with all servers in
\`DATABASE_URL\` and \`DATABASE_READ_URL\`; ${rate} activations and ${rate * HEARTBEATS_PER_ACTIVATION} heartbeats a second. In each round the primary is killed with its Patroni, or
stopped (SIGSTOP), so that it hangs and later continues as a primary.

| goal | measured | |
| --- | ---: | --- |
| acknowledged writes lost: 0 | ${lost} of ${formatCount(acknowledged)} | ${reachedOrMissed(lost === 0)} |
| first write after at most ${formatTime(MAX_FIRST_WRITE_MS)} | ${formatTime(slowest)} | ${reachedOrMissed(slowest <= MAX_FIRST_WRITE_MS)} |
| answers that stop the application, and other wrong answers: 0 | ${wrong} of ${formatCount(answers.length)} | ${reachedOrMissed(wrong === 0)} |

${table([['the primary is', 'promotion after', 'first write after', 'heartbeats confirmed meanwhile'], ...rows])}

${describeMachine(version, 'its default settings')}
All processes share this machine; ${describeLoad()}.
`;
}
