import { afterAll, expect, test } from '@jest/globals';
import { activation, createDatabase, connect } from '../support/harness.js';
import { attemptCall, Load, type Timed } from '../support/databases/outage-harness.js';
import { freePort, ServerProcess } from '../support/processes/server-process.js';
import { STORED_TELEMETRY } from '../support/tables.js';
import { temporaryFolder } from '../support/folders.js';

/** The machine limit of the license. More machines than this activate, so that they compete for the limit. */
const MACHINES_ALLOWED = 60;

const directory = temporaryFolder();
let license: { license_key: string; email: string };
let counter = 0;
let load: Load | undefined;

interface Instance {
  readonly url: string;
  readonly process: ServerProcess;
}

async function start(formerPort?: number): Promise<Instance> {
  const port = formerPort ?? (await freePort());
  const settings = { PORT: String(port), DATA_DIR: directory, DATABASE_URL: database.url };
  const instance = { url: `http://127.0.0.1:${port}`, process: new ServerProcess(settings) };
  await instance.process.ready();
  return instance;
}

const database = await createDatabase();
const client = await connect(database.url);
afterAll(() => load?.stop().catch(() => undefined));

test('instances that are killed under load lose nothing that they acknowledged, and exceed no machine limit', async () => {
  const [first, second] = [await start(), await start()];
  const [, license_key, email] = await first.process.waitForOutput(
    'stderr',
    /Sample license +(\S+) +\((\S+)\)/,
  );
  license = { license_key: license_key!, email: email! };
  await client.query('update license set machines_allowed = $1', [MACHINES_ALLOWED]);
  const { json } = await attemptCall('activate', first.url, 'POST', '/v1/activate', activation(license));

  const activate = (url: string) => async () => {
    const machine = `machine ${(counter += 1)}`;
    return attemptCall('activate', url, 'POST', '/v1/activate', activation(license, machine));
  };
  const sendTelemetry = (url: string) => async () => {
    const uptime_hours = (counter += 1);
    const body = { token: json.token, app_version: '1.0.0', telemetry: { uptime_hours } };
    const answer = await attemptCall('telemetry', url, 'POST', '/v1/heartbeat', body);
    return { ...answer, json: { ...answer.json, uptime_hours } };
  };
  const urls = [first.url, second.url];
  load = new Load(
    urls.flatMap((url) => [
      activate(url),
      activate(url),
      sendTelemetry(url),
      sendTelemetry(url),
      sendTelemetry(url),
    ]),
  );
  const isAcknowledged = ({ status }: Timed) => status === 200 || status === 201;

  await load.waitFor(40, isAcknowledged);
  await first.process.end('SIGKILL');
  await load.waitFor(40, isAcknowledged);
  const third = await start(Number(new URL(first.url).port));
  await load.waitFor(20, isAcknowledged);
  await Promise.all([second.process.end('SIGKILL'), third.process.end('SIGKILL')]);
  const answers = await load.stop();
  // When PostgreSQL has closed the connections of the killed instances, none of their transactions is open any more.
  for (let open = 1; open > 0;) {
    const { rows } = await client.query<{ open: number }>(
      `select count(*)::int as open from pg_stat_activity where application_name like 'mooring%' and datname = current_database()`,
    );
    open = rows[0]!.open;
  }

  const activations = answers.filter(({ name, status }) => name === 'activate' && status === 201);
  const rows = await client.query<{ id: string }>('select id from activation where ended_at is null');
  const ids = new Set(rows.rows.map(({ id }) => id));
  expect(activations.filter(({ json }) => !ids.has(json.activation.id))).toEqual([]);
  expect(ids.size).toBeLessThanOrEqual(MACHINES_ALLOWED);
  expect(new Set(answers.filter(({ name }) => name === 'activate').map(({ status }) => status))).toEqual(
    new Set([0, 201, 409]),
  );

  const storedHours = answers
    .filter(({ json: { telemetry } }) => telemetry?.stored === true)
    .map((answer) => answer.json.uptime_hours as number);
  const counted = await client.query<{ uptime_hours: number; rows: number }>(
    `select uptime_hours, count(*)::int as rows from ${STORED_TELEMETRY} group by 1`,
  );
  const rowCounts = new Map(counted.rows.map((row) => [row.uptime_hours, row.rows]));
  expect(storedHours.length).toBeGreaterThan(20);
  expect(storedHours.filter((hours) => rowCounts.get(hours) !== 1)).toEqual([]);
  expect([...rowCounts.values()].filter((count) => count !== 1)).toEqual([]);
});
