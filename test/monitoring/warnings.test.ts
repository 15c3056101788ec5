import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, expect, jest, test } from '@jest/globals';
import { ErasureService } from '../../src/erasure/erasure.service.js';
import { WarningsService } from '../../src/monitoring/warnings/warnings.service.js';
import { temporaryFolder } from '../support/folders.js';
import { connect, Service } from '../support/harness.js';
import { withLimits } from '../support/limits.js';
import { whileLocked } from '../support/tables.js';
import { until } from '../support/until.js';

const READ_ONLY_WARNING = 'The database accepts no writes: activations and all other changes receive 503.';

let service: Service;
beforeAll(async () => {
  service = await Service.start();
  // The job queue uses the real time and would carry erasure requests out at once, but they must wait in these tests.
  jest.spyOn(service.app.get(ErasureService), 'runQueued').mockResolvedValue();
  // The database seems to be newer than every time that a test sets, so that no test gets the warning about a missing run.
  await service.sql(`truncate retention_run; update schema_migration set applied_at = '2100-01-01'`);
});
afterEach(() =>
  service.sql('truncate telemetry_inbox, telemetry, activation, license, erasure_request cascade'),
);

const warnings = async (): Promise<string[]> => {
  const { status, json } = await service.call('GET', '/health/ready');
  expect([status, json.status]).toEqual([200, 'ready']);
  return json.warnings;
};

const addToInbox = (day: string) =>
  service.sql('insert into telemetry_inbox (id, received_on) values (gen_random_uuid(), $1)', [day]);

/** Adds a retention run that ended when it began. @param failed the tables at which it failed */
const addRun = (at: string | Date, failed = '{}') =>
  service.sql(
    `insert into retention_run (id, as_of, started_at, finished_at, failed)
     values (gen_random_uuid(), $1, $1, $1, $2)`,
    [at, failed],
  );

async function addTelemetry(day: string): Promise<void> {
  await service.sql(`create table if not exists telemetry_${day.slice(0, 7).replace('-', '_')}
    partition of telemetry for values from ('${day.slice(0, 7)}-01') to ('${day.slice(0, 7)}-29')`);
  await service.sql('insert into telemetry (id, received_on) values (gen_random_uuid(), $1)', [day]);
}

async function addReleased(at: string): Promise<void> {
  const { json } = await service.activate(await service.issue());
  await service.sql(`update activation set ended_at = $2, ended_reason = 'released' where id = $1`, [
    json.activation.id,
    at,
  ]);
}

async function requestErasure(at: string): Promise<void> {
  service.clock.set(at);
  await service.app.get(ErasureService).request('ada@example.com');
}

/** What is late, how it is made, the last moment without a warning, the first moment with one, and the text. */
const LATE: [late: string, make: () => Promise<unknown>, until: string, from: string, sentence: string][] = [
  [
    'a row that should have moved out of the inbox',
    () => addToInbox('2026-11-18'),
    '2026-11-19T23:59:59.999Z',
    '2026-11-20T00:00:00Z',
    'The telemetry inbox holds rows of 2026-11-18, which should have moved.',
  ],
  [
    'telemetry that should have been deleted',
    () => addTelemetry('2024-11-20'),
    '2026-11-20T23:59:59.999Z',
    '2026-11-21T00:00:00Z',
    'Rows of 2024-11-20 in telemetry should have been deleted (kept 24 months from the day it was received).',
  ],
  [
    'an ended activation that should have been deleted',
    () => addReleased('2025-11-20T23:00:00Z'),
    '2026-11-20T23:59:59.999Z',
    '2026-11-21T00:00:00Z',
    'Rows of 2025-11-20 in activation should have been deleted (kept while active, and 12 months after the end, at most as long as the license).',
  ],
  [
    'an erasure that should have been carried out',
    () => requestErasure('2026-11-20T23:00:00Z'),
    '2026-11-24T23:59:59.999Z',
    '2026-11-25T00:00:00Z',
    'An erasure request should have been carried out on 2026-11-23: run mooring erasure run to see why.',
  ],
];
test.each(LATE)(
  '%s causes a warning as soon as it is late, and not before',
  async (_late, make, until, from, sentence) => {
    await make();
    service.clock.set(until);
    expect(await warnings()).toEqual([]);
    service.clock.set(from);
    expect(await warnings()).toEqual([sentence]);
  },
);

test('an overdue erasure request causes a warning from the day after it was due', async () => {
  await requestErasure('2026-11-20T23:00:00Z');
  service.clock.set('2026-12-20T23:59:59.999Z');
  expect(await warnings()).toEqual([expect.stringContaining('should have been carried out on')]);
  service.clock.set('2026-12-21T00:00:00Z');
  expect(await warnings()).toEqual(['An erasure request was due on 2026-12-20 and is overdue.']);
});

test('a retention run that failed at a table causes a warning while it is the last one', async () => {
  service.clock.set('2026-11-20T13:00:00Z');
  await addRun('2026-11-20T12:59:59Z', '{telemetry}');
  expect(await warnings()).toEqual(['The last retention run failed at telemetry; the log says why.']);
  await addRun(service.clock.now());
  expect(await warnings()).toEqual([]);
  await service.sql('truncate retention_run');
});

test('a retention run whose clock was ahead neither hides nor causes a warning', async () => {
  service.clock.set('2026-11-20T13:00:00Z');
  await addRun('2026-11-19T12:59:59Z', '{telemetry}');
  await addRun('2027-11-20T13:00:00Z');
  // A recent rewrite, so that the warning about an old one does not appear.
  await service.sql(`update file_rewrite set rewritten_at = '2026-11-19T12:59:59Z'`);
  expect(await warnings()).toEqual([
    'No retention run has finished since 2026-11-19T12:59:59Z; the log says why.',
    'The last retention run failed at telemetry; the log says why.',
  ]);
  await service.sql('truncate retention_run');
});

test('the oldest row of each kind is reported, with one sentence each', async () => {
  service.clock.set('2026-11-20T13:00:00Z');
  for (const day of ['2026-11-10', '2026-11-05', '2026-11-20']) await addToInbox(day);
  await addTelemetry('2023-01-15');
  await addReleased('2024-01-01T00:00:00Z');
  await requestErasure('2026-01-01T00:00:00Z');
  service.clock.set('2026-11-20T13:00:00Z');
  expect(await warnings()).toEqual([
    'The telemetry inbox holds rows of 2026-11-05, which should have moved.',
    'Rows of 2023-01-15 in telemetry should have been deleted (kept 24 months from the day it was received).',
    'Rows of 2024-01-01 in activation should have been deleted (kept while active, and 12 months after the end, at most as long as the license).',
    'An erasure request was due on 2026-01-31 and is overdue.',
  ]);
});

test('a cancelled request is no longer overdue', async () => {
  await requestErasure('2026-01-01T00:00:00Z');
  service.clock.set('2026-03-01T00:00:00Z');
  expect(await warnings()).toHaveLength(1);
  await service.sql(`update erasure_request set email = null, cancelled_at = '2026-01-02'`);
  expect(await warnings()).toEqual([]);
});

test('while the database does not answer, the only warning says so, and the instance stays ready', async () => {
  expect(await whileLocked(service, 'telemetry_inbox', warnings)).toEqual([
    'The database does not answer in time.',
  ]);
  expect(await warnings()).toEqual([]);
});

test('a query that the database refuses causes a warning of its own, and a line in the log', async () => {
  await service.sql('alter table erasure_request rename to erasure_request_moved');
  const refused = await warnings();
  await service.sql('alter table erasure_request_moved rename to erasure_request');
  expect(refused).toEqual(['The database refuses a query of the warnings; the log says why.']);
  expect(service.logged.filter((line) => line.includes('warnings not read'))).toEqual([
    expect.stringContaining('"code":"42P01"'),
  ]);
  expect(await warnings()).toEqual([]);
});

test('a TOMBSTONE_FILE that does not answer causes warnings of its own, and keeps one thread waiting at most', async () => {
  const file = join(temporaryFolder(), 'erased.txt');
  const other = await Service.start({ environment: { TOMBSTONE_FILE: file } });
  // A read of a pipe waits for a writer, as one of a shared folder waits for its server.
  execFileSync('mkfifo', [file]);
  await withLimits({ tombstones: 50 }, async () => {
    const warnings = other.app.get(WarningsService);
    // Node has four threads for files. If each of these five reads kept one, the read of package.json could not run.
    const states = await Promise.all(Array.from({ length: 5 }, () => warnings.readState()));
    expect(new Set(states.map((state) => warnings.derive(state).join()))).toEqual(
      new Set([
        'TOMBSTONE_FILE cannot be read.,TOMBSTONE_FILE cannot be written: no erasure is carried out meanwhile.',
      ]),
    );
    expect(await readFile('package.json', 'utf8')).toContain('mooring');
  });
  const writer = openSync(file, constants.O_WRONLY | constants.O_NONBLOCK);
  rmSync(file);
  closeSync(writer);
  await until(async () => (await other.call('GET', '/health/ready')).json.warnings.length === 0);
});

test('a database that accepts no writes causes a warning', async () => {
  const url = new URL(service.databaseUrl);
  const database = url.pathname.slice(1);
  const admin = await connect(Object.assign(url, { pathname: '/postgres' }).href);
  const setReadOnly = async (action: string) => {
    await admin.query(`alter database "${database}" ${action}`);
    await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [
      database,
    ]);
  };
  const untilWarned = (isWarned: boolean) =>
    until(async () => (await warnings()).includes(READ_ONLY_WARNING) === isWarned);
  try {
    await setReadOnly('set default_transaction_read_only = on');
    await untilWarned(true);
  } finally {
    await setReadOnly('reset default_transaction_read_only');
    await admin.end();
  }
  await untilWarned(false);
});
