import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { Service } from '../support/harness.js';
import { FragilePostgres } from '../support/databases/outage-harness.js';
import { query } from '../support/databases/replica-harness.js';

const primary = await FragilePostgres.start();
const service = await Service.start({ databaseUrl: primary.url });

const CANCEL_WAITING_COMMITS = `
  select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep' and application_name = 'mooring'`;

test('a commit that no synchronous standby has confirmed is not acknowledged, also if its wait is cancelled', async () => {
  const license = await service.issue();
  // PostgreSQL lets no session wait before this setting has reached the checkpointer, so a reload alone is not enough.
  await query(primary.url, "alter system set synchronous_standby_names = 'absent'");
  await query(primary.url, 'select pg_reload_conf()');
  await query(primary.url, 'checkpoint');
  const answer = service.activate(license);
  while ((await query(primary.url, CANCEL_WAITING_COMMITS)).length === 0) await pause(20);
  const { status, json } = await answer;
  expect([status, json.code, json.client_action]).toEqual([503, 'unavailable', 'retry']);
  await query(primary.url, 'alter system reset synchronous_standby_names');
  await query(primary.url, 'select pg_reload_conf()');
  // The commit is on the primary, so the client that tries again receives the same activation.
  expect((await service.activate(license)).status).toBeLessThan(300);
  expect(await query(primary.url, 'select from activation')).toHaveLength(1);
});
