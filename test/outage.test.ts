import { hash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { activation } from './harness.js';
import { FragilePostgres, Load, timed, type Timed } from './outage-harness.js';
import { freePort, ServerProcess } from './server-process.js';

/** A client waits no longer for a 503 (contract: unavailable). */
const PATIENCE_MS = 2_000;
const STAFF_TOKEN = 'mst_a-token-of-the-outage-test';
const bearer = { authorization: `Bearer ${STAFF_TOKEN}` };

const directory = mkdtempSync(join(tmpdir(), 'mooring-outage-'));
let postgres: FragilePostgres;
let service: ServerProcess;
let url: string;
let license: { license_key: string; email: string };
let token: string;
let load: Load | undefined;
let counter = 0;

beforeAll(async () => {
  postgres = await FragilePostgres.start();
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  service = new ServerProcess({ PORT: String(port), DATA_DIR: directory, DATABASE_URL: postgres.url });
  await service.ready();
  // The sample license of development, and the manifest that is served throughout.
  const [, license_key, email] = await service.says('stderr', /Sample license +(\S+) +\((\S+)\)/);
  license = { license_key: license_key!, email: email! };
  const staff = '0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6';
  await sql('update license set machines_allowed = 100000');
  await sql(`insert into staff values ('${staff}', 'grace@example.com', 'support', now())`);
  await sql(`insert into staff_token values ('${staff}', '${staff}', $1, now(), now() + interval '1 day')`, [
    hash('sha256', STAFF_TOKEN, 'buffer'),
  ]);
  token = (await activate()).json.token as string;
}, 30_000);

async function sql<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client(postgres.url);
  await client.connect();
  const { rows } = await client.query<Row>(text, values);
  await client.end();
  return rows;
}

afterEach(async () => {
  postgres.thaw();
  await load?.stop().catch(() => undefined);
});
afterAll(async () => {
  await service?.end();
  await postgres?.end();
  rmSync(directory, { recursive: true, force: true });
});

const beat = (more = {}) => ({ token, app_version: '1.0.0', ...more });
const activate = () =>
  timed(
    'activate',
    url,
    'POST',
    '/v1/activate',
    activation(license, `machine ${(counter += 1)}`, { hostname_hint: `hint ${counter}` }),
  );
const heartbeat = () => timed('heartbeat', url, 'POST', '/v1/heartbeat', beat());
/** Each block can be told from every other. */
const telemetry = async () => {
  const uptime_hours = (counter += 1);
  const answer = await timed(
    'telemetry',
    url,
    'POST',
    '/v1/heartbeat',
    beat({ telemetry: { uptime_hours } }),
  );
  return { ...answer, json: { ...answer.json, uptime_hours } };
};
const search = () =>
  timed('search', url, 'POST', '/support/api/licenses/search', { transaction_id: 'none' }, bearer);
const manifest = () => timed('manifest', url, 'GET', '/v1/manifest');
const live = () => timed('live', url, 'GET', '/health/live');
const ready = () => timed('ready', url, 'GET', '/health/ready');

const ALL = [activate, heartbeat, telemetry, search, manifest, live, ready];
const NEEDS_DATABASE = ['activate', 'heartbeat', 'telemetry', 'search'];
const refused = ({ status }: Timed) => status === 503;
const served = ({ name, status }: Timed) => NEEDS_DATABASE.includes(name) && status < 300;

/** What every answer promises, whatever the database does. */
function expectPromises(answers: Timed[]): void {
  const late = answers.filter(({ milliseconds }) => milliseconds > PATIENCE_MS);
  expect(late.map(({ name, status, milliseconds }) => ({ name, status, milliseconds }))).toEqual([]);
  for (const { name, status, json, headers } of answers) {
    if (status < 300) continue;
    expect([name, status, json.code, json.client_action]).toEqual([name, 503, 'unavailable', 'retry']);
    expect(NEEDS_DATABASE).toContain(name);
    expect(headers['retry-after']).toMatch(/^\d+$/);
  }
}

/** Nothing acknowledged is lost, and nothing was written twice. */
async function expectKept(answers: Timed[]): Promise<void> {
  const acknowledged = answers
    .filter(({ name, status }) => name === 'activate' && status < 300)
    .map(({ json }) => json.activation.id as string);
  const rows = await sql<{ id: string }>('select id from activation');
  expect(acknowledged.length).toBeGreaterThan(0);
  expect(new Set(rows.map(({ id }) => id))).toEqual(new Set([...rows.map(({ id }) => id), ...acknowledged]));
  const stored = answers
    .filter(({ json }) => json?.telemetry?.stored === true)
    .map(({ json }) => json.uptime_hours as number);
  expect(stored.length).toBeGreaterThan(0);
  const counted = await sql<{ uptime_hours: number; rows: number }>(
    'select uptime_hours, count(*)::int as rows from telemetry_inbox group by 1',
  );
  expect(counted.filter(({ rows }) => rows !== 1)).toEqual([]);
  expect(stored.filter((hours) => !counted.some(({ uptime_hours }) => uptime_hours === hours))).toEqual([]);
}

describe.each([
  ['stopped in the middle of everything', () => postgres.stop(), () => postgres.restart()],
  ['frozen', async () => postgres.freeze(), async () => postgres.thaw()],
])('a database that is %s', (_what, fail, recover) => {
  test('makes every answer that needs it a 503 within 2 seconds, and no other', async () => {
    load = new Load([...ALL, ...ALL, activate, telemetry]);
    await load.more(50, served);
    await fail();
    // Whatever was under way is over: from here on nobody is served.
    await load.more(12, refused);
    const from = load.answers.length;
    for (const name of NEEDS_DATABASE)
      await load.more(3, (answer) => answer.name === name && refused(answer));
    for (const name of ['manifest', 'live', 'ready']) await load.more(3, (answer) => answer.name === name);
    const during = load.answers.slice(from);
    await recover();
    // By itself: nothing is told to the service.
    const recovering = performance.now();
    for (const name of NEEDS_DATABASE) await load.more(5, (answer) => answer.name === name && served(answer));
    const recovery = performance.now() - recovering;
    const answers = await load.stop();

    expect(during.filter(served)).toEqual([]);
    expect(during.filter(({ name }) => name === 'ready').map(({ json }) => json)).toContainEqual({
      status: 'ready',
      warnings: ['The database does not answer.'],
    });
    expectPromises(answers);
    expect(recovery).toBeLessThan(5_000);
    await expectKept(answers);
    expect((await ready()).json).toEqual({ status: 'ready', warnings: [] });
  }, 40_000);

  test('leaves no connection in an open transaction: what follows commits', async () => {
    const observer = new pg.Client(postgres.url);
    await observer.connect();
    const { rows } = await observer.query(
      `select state, query from pg_stat_activity
       where application_name = 'mooring' and (state like 'idle in transaction%' or now() - xact_start > interval '3 seconds')`,
    );
    expect(rows).toEqual([]);
    // More than the pool has connections, so that each of them is used.
    const answers = await Promise.all(Array.from({ length: 40 }, activate));
    expect(answers.filter(({ status }) => status !== 201)).toEqual([]);
    // Seen from another connection: it is committed.
    const ids = answers.map(({ json }) => json.activation.id as string);
    const seen = await observer.query('select 1 from activation where id = any($1)', [ids]);
    expect(seen.rowCount).toBe(40);
    await observer.end();
  });
});
