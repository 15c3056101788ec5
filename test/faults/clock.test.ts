import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from '@jest/globals';
import { DAY_MS } from '../../src/core/clock.js';
import { FaultedService, isServedByDatabase, type RecordedAnswer } from './harness.js';
import { expectGuarantees } from './guarantees.js';
import { activation, createDatabase } from '../support/harness.js';
import type { Load } from '../support/databases/outage-harness.js';
import { report, PURCHASE_SETTINGS } from '../support/http/webhook.js';

const YEAR_MS = 365 * DAY_MS;
const preload = fileURLToPath(new URL('../support/processes/wrong-clock.mjs', import.meta.url));
const WARNING =
  'The clocks of this machine and of the database differ by more than an hour: nothing is deleted meanwhile.';

let load: Load<RecordedAnswer> | undefined;

const database = await createDatabase();
const faulted = await FaultedService.start(database.url, {
  nodeArguments: ['--import', preload],
  hasIpc: true,
  hasProductionLimits: false,
  environment: PURCHASE_SETTINGS,
});
afterEach(() => load?.stop().catch(() => undefined));

/** Sets by how much the clock of the service differs from the right time. */
async function setClockOffset(offsetMs: number): Promise<void> {
  faulted.process.child.send(offsetMs);
  await once(faulted.process.child, 'message');
}

/** Issues a license that ends in a hundred days, and activates a machine with it. */
async function activateExpiringLicense() {
  const expires_at = new Date(Date.now() + 100 * DAY_MS).toISOString();
  const license = await faulted.issue({ machines_allowed: 2, expires_at, on_expiry: 'stop' });
  const { json } = await faulted.call('POST', '/v1/activate', activation(license));
  return { license, token: json.token as string };
}

const reportPaid = (transaction_id: string) =>
  report(faulted, { transaction_id, email: 'ada@example.com', status: 'paid' });

test('a clock that jumps a year ahead and then two years back stops no client, and the service works as before once the clock is corrected', async () => {
  const { license, token } = await activateExpiringLicense();
  const sendHeartbeat = () => faulted.call('POST', '/v1/heartbeat', { token, app_version: '1.0.0' });
  load = faulted.startLoad();
  await load.waitFor(50, isServedByDatabase);

  await setClockOffset(YEAR_MS);
  for (const { status, json } of [
    await sendHeartbeat(),
    await faulted.call('POST', '/v1/activate', activation(license)),
    await faulted.call('POST', '/v1/activate', activation(license, 'another machine')),
  ])
    expect([status, json.code, json.client_action]).toEqual([503, 'unavailable', 'retry']);
  expect((await faulted.ready()).json.warnings).toContain(WARNING);
  // The report was signed at the right time, so the signature is a year old by the clock of the service.
  expect((await reportPaid('while-ahead')).status).toBe(403);
  const signedIn = await faulted.call('POST', '/portal/api/session', license);
  const cookie = signedIn.cookies[0]!.split(';')[0]!;
  const readLicenses = () => faulted.call('GET', '/portal/api/session', undefined, { cookie });
  expect((await readLicenses()).status).toBe(200);
  await load.waitFor(100, isServedByDatabase);

  await setClockOffset(-YEAR_MS);
  expect((await sendHeartbeat()).status).toBe(200);
  expect((await faulted.ready()).json.warnings).toContain(WARNING);
  await load.waitFor(100, isServedByDatabase);

  await setClockOffset(0);
  const recovery = await faulted.measureRecovery(load);
  expect((await sendHeartbeat()).json.offline_until.slice(0, 4)).toBe(
    String(new Date(Date.now() + 7 * DAY_MS).getUTCFullYear()),
  );
  expect((await reportPaid('after')).status).toBe(204);
  // The session began a year ahead. If it were still accepted, it would be valid for more than a year.
  expect((await readLicenses()).status).toBe(204);
  await expectGuarantees(faulted, await load.stop(), recovery);
});

test('a service that starts with a clock a year ahead deletes nothing, and after a restart with the right time it deletes what is due', async () => {
  await faulted.sql(
    `insert into activation (id, license_id, machine_id, app_version, activated_at, ended_at, ended_reason)
     select gen_random_uuid(), id, sha256(months::text::bytea), '1.0.0', now() - interval '2 years',
            now() - make_interval(months => months), 'released'
     from (select id from license limit 1) l, (values (6), (13)) as ended (months)`,
  );
  const countEnded = async () =>
    (await faulted.sql('select from activation where ended_at is not null')).length;
  await faulted.process.end();
  await faulted.startProcess({ TEST_CLOCK_OFFSET: String(YEAR_MS) });
  await faulted.process.waitForOutput('stdout', /TimeUncertain/);
  expect(await countEnded()).toBe(2);
  await faulted.process.end();
  // Otherwise the next start would skip its run, because one took place within the last hour.
  await faulted.sql('truncate retention_run');
  await faulted.startProcess();
  await faulted.process.waitForOutput('stdout', /"msg":"retention run"/);
  expect(await countEnded()).toBe(1);
});
