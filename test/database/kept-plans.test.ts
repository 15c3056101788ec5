import { expect, test } from '@jest/globals';
import { DataSource } from 'typeorm';
import { poolOf } from '../../src/database/data-source.js';
import { queryPrepared } from '../../src/database/sql.js';
import { Browser } from '../license-portal/harness.js';
import { Service } from '../support/harness.js';

/*
 * PostgreSQL plans the first five executions of a prepared statement one by one. Then it keeps a plan, unless the plans for single
 * values seem to be much cheaper. Planning each execution would take most of the time of these short statements.
 */

/** The executions that PostgreSQL always plans. */
const FIRST_EXECUTIONS = 5;

const service = await Service.start();

interface Plans {
  readonly name: string;
  readonly custom_plans: number;
  readonly generic_plans: number;
}

const READ_PLANS = {
  name: 'read plans',
  text: `select name, custom_plans::int, generic_plans::int from pg_prepared_statements where name <> 'read plans'`,
};

test('the plans of the statements of heartbeats, activations and the portal are kept', async () => {
  const license = await service.issue({ machines_allowed: 100 });
  const byKey = await new Browser(service).signInByKey(license);
  const byCode = await new Browser(service).signInByCode(license.email);
  for (let machine = 0; machine < 40; machine += 1) {
    const { json } = await service.activate(license, `machine ${machine}`);
    await service.activate(license, `machine ${machine}`);
    await service.heartbeat(json.token as string);
    await byKey.call('GET', '/licenses');
    await byCode.call('GET', '/licenses');
  }
  // Each connection has its own prepared statements.
  const pool = poolOf(service.app.get(DataSource));
  const clients = await Promise.all(Array.from({ length: pool.totalCount }, () => pool.connect()));
  const plans = await Promise.all(clients.map((client) => queryPrepared<Plans>(client, READ_PLANS)));
  for (const client of clients) client.release();
  const executed = plans
    .flat()
    .filter(({ custom_plans, generic_plans }) => custom_plans + generic_plans > FIRST_EXECUTIONS);
  expect([...new Set(executed.map(({ name }) => name))].toSorted()).toEqual([
    'activate machine',
    'find activation',
    'find session',
    'read activations',
    'read activations of a holder',
    'read end of retention',
    'read license of a key',
    'read licenses of an address',
  ]);
  expect(executed.filter(({ custom_plans }) => custom_plans > FIRST_EXECUTIONS)).toEqual([]);
});
