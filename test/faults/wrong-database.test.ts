import { expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { jobsPool, withMaintenanceConnection } from '../../src/database/data-source.js';
import { DeadlineClient } from '../../src/database/deadline-client.js';
import { JOBS_TIMEOUTS_MS } from '../../src/database/jobs-client.js';
import { SearchingClient } from '../../src/database/searching-client.js';
import { createKeyRing } from '../../src/keys/tokens/key-ring.js';
import { createDatabase, Service } from '../support/harness.js';
import { query } from '../support/databases/replica-harness.js';
import { publish } from '../manifest/publish.js';
import { PRODUCTION_SETTINGS } from '../support/production.js';
import { temporaryFolder } from '../support/folders.js';

/** Makes the database look like a wrong, empty one, to which the running service was connected by mistake. */
const emptyDatabase = (service: Service) => service.sql('delete from activation; delete from license');

test('if a production database is emptied while the service runs, no license is refused', async () => {
  const directory = temporaryFolder();
  await createKeyRing(join(directory, 'tokens'), new Date());
  const service = await Service.start({
    environment: {
      ...PRODUCTION_SETTINGS,
      LICENSE_KEY_SECRET: randomBytes(32).toString('base64'),
      TOKEN_KEYS_DIR: join(directory, 'tokens'),
    },
  });
  const license = await service.issue();
  const { token } = (await service.activate(license)).json;
  // The service has read a license, and has answered `license_not_found` to a wrong address.
  expect((await service.activate({ ...license, email: 'eve@example.com' })).json.code).toBe(
    'license_not_found',
  );
  await emptyDatabase(service);
  const signIn = service.call('POST', '/portal/api/session', {
    email: license.email,
    license_key: license.license_key,
  });
  for (const answer of [await service.activate(license), await service.heartbeat(token), await signIn]) {
    expect([answer.status, answer.json.code, answer.json.client_action]).toEqual([
      503,
      'unavailable',
      'retry',
    ]);
  }
});

/** Sets the default of a setting for the later connections to a database. */
const setDefault = (url: string, setting: string, value: string) =>
  query(url, `alter database ${new URL(url).pathname.slice(1)} set ${setting} = '${value}'`);

test('the machine limit is kept although the default isolation level of the database is `repeatable read`', async () => {
  const database = await createDatabase();
  await setDefault(database.url, 'default_transaction_isolation', 'repeatable read');
  const service = await Service.start({ databaseUrl: database.url });
  for (let round = 0; round < 5; round += 1) {
    const license = await service.issue();
    const machines = Array.from({ length: 20 }, (_, i) => `machine ${round} ${i}`);
    const answers = await Promise.all(machines.map((machine) => service.activate(license, machine)));
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
    expect(statuses).toEqual([201, ...Array.from({ length: 19 }, () => 409)]);
  }
});

test.each(['German', 'SQL, DMY', 'Postgres'])(
  'a released machine is refused although the default DateStyle of the database is `%s`',
  async (style) => {
    const { url } = await createDatabase();
    await setDefault(url, 'datestyle', style);
    const service = await Service.start({ databaseUrl: url });
    const { status, json } = await service.activate(await service.issue());
    expect(status).toBe(201);
    await service.sql(`update activation set ended_at = now(), ended_reason = 'released'`);
    expect((await service.heartbeat(json.token)).json.code).toBe('binding_released');
  },
);

test('a backslash in a statement keeps its meaning although the database has another default', async () => {
  const { url } = await createDatabase();
  await setDefault(url, 'standard_conforming_strings', 'off');
  const rows = await withMaintenanceConnection(url, (dataSource) =>
    dataSource.query(String.raw`select '\d' as text`),
  );
  expect(rows).toEqual([{ text: String.raw`\d` }]);
});

test('time limits of the database or the role end no job and no command', async () => {
  const { url } = await createDatabase();
  const limits = [
    'statement_timeout',
    'lock_timeout',
    'idle_in_transaction_session_timeout',
    'idle_session_timeout',
  ];
  for (const limit of limits) await setDefault(url, limit, '5s');
  const settings = `select name, setting from pg_settings where name = any($1) order by array_position($1, name)`;
  const ofCommands = await withMaintenanceConnection(url, (dataSource) =>
    dataSource.query(settings, [limits]),
  );
  const pool = jobsPool(url, 1);
  const { rows: ofJobs } = await pool.query(settings, [limits]);
  await pool.end();
  const withValues = (values: readonly number[]) =>
    limits.map((limit, i) => ({ name: limit, setting: String(values[i]) }));
  expect(ofCommands).toEqual(withValues([0, 0, 0, 0]));
  expect(ofJobs).toEqual(withValues([JOBS_TIMEOUTS_MS.statement, 0, 0, 0]));
});

test('a client with a version that a restored database does not know is not stopped', async () => {
  const service = await Service.start();
  await publish(service, '2.0.0');
  await publish(service, '3.0.0', '2028-01-01T00:00:00Z');
  const license = await service.issue({ expires_at: new Date('2027-01-01T00:00:00Z') });
  const { token } = (await service.activate(license, 'a machine', { app_version: '2.0.0' })).json;
  const sendHeartbeat = () => service.heartbeat(token, { app_version: '3.0.0' });
  expect((await sendHeartbeat()).json.code).toBe('version_not_covered');
  await service.sql(
    `alter table manifest disable trigger user; delete from manifest where sequence = 2;
     alter table manifest enable trigger user`,
  );
  expect((await sendHeartbeat()).status).toBe(200);
  expect((await service.call('GET', '/v1/manifest')).json.version).toBe('2.0.0');
  // The same version is published again with other bytes, and that manifest is used.
  await publish(service, '3.0.0', '2026-12-01T00:00:00Z');
  expect((await sendHeartbeat()).status).toBe(200);
  expect((await service.call('GET', '/v1/manifest')).json.version).toBe('3.0.0');
});

test('a connection whose server reports that it is a standby is closed', async () => {
  const client = new DeadlineClient(process.env['MOORING_TEST_POSTGRES']);
  await client.connect();
  const connectionError = new Promise<Error>((resolve) => client.once('error', resolve));
  const reportStandby = (parameterValue: string) =>
    client.connection.emit('parameterStatus', { parameterName: 'in_hot_standby', parameterValue });
  reportStandby('off');
  expect((await client.query('select 1 as one')) as unknown).toMatchObject({ rows: [{ one: 1 }] });
  reportStandby('on');
  expect((await connectionError).message).toBe('Connection terminated: the server is a standby');
});

test('without a password, the connection is closed at once, and PostgreSQL does not wait for a password', async () => {
  const database = await createDatabase();
  const url = Object.assign(new URL(database.url), { password: '' }).href;
  const client = new SearchingClient(url);
  await expect(client.connect()).rejects.toThrow('password must be a string');
  expect(client).toMatchObject({ connection: { stream: { destroyed: true } } });
});
