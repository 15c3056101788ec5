import { createServer } from 'node:net';
import { expect, test } from '@jest/globals';
import { MetricsService } from '../../src/monitoring/metrics/metrics.service.js';
import { ErasureService } from '../../src/erasure/erasure.service.js';
import { RetentionService } from '../../src/retention/retention.service.js';
import { waitForJobs } from '../erasure/harness.js';
import { createDatabase, Service } from '../support/harness.js';
import { publish } from '../manifest/publish.js';
import { ServerProcess } from '../support/processes/server-process.js';
import { metricsUrl, scrape } from '../support/http/scrape.js';
import { temporaryFolder } from '../support/folders.js';
import { listen } from '../support/listen.js';

const service = await Service.start({
  environment: { METRICS_PORT: '0', SMTP_URL: 'smtp://127.0.0.1:9', MAIL_FROM: 'a@example.com' },
});
const url = metricsUrl(service);

const samples = () => scrape(service);

test('without data no age of data and no deadline is shown, and no mail, warning or job is counted', async () => {
  const { mooring_mails_waiting, mooring_mails_failing, mooring_warnings, ...others } = await samples();
  expect([mooring_mails_waiting, mooring_mails_failing, mooring_warnings]).toEqual([0, 0, 0]);
  expect(Object.keys(others).filter((name) => /age_days|erasure_overdue|expires/.test(name))).toEqual([]);
  const jobs = Object.entries(others).filter(([name]) => name.startsWith('mooring_jobs_'));
  expect(new Set(jobs.map(([, count]) => count))).toEqual(new Set([0]));
});

test('the age of the oldest data is shown in days, and not shown without data', async () => {
  // The run creates the partition of the row of `telemetry`.
  await service.app.get(RetentionService).run();
  await service.sql(`insert into telemetry_inbox (id, received_on) values
    (gen_random_uuid(), '2026-11-20'), (gen_random_uuid(), '2026-11-17')`);
  await service.sql(`insert into telemetry (id, received_on) values (gen_random_uuid(), '2026-11-01')`);
  const { json } = await service.activate(await service.issue());
  await service.sql(
    `update activation set ended_at = '2026-10-21T15:00:00Z', ended_reason = 'released' where id = $1`,
    [json.activation.id],
  );
  expect(await samples()).toMatchObject({
    'mooring_oldest_age_days{of="telemetry_inbox"}': 3,
    'mooring_oldest_age_days{of="telemetry"}': 19,
    'mooring_oldest_age_days{of="ended_activation"}': 30,
    // The rows of 2026-11-17 should have moved out of the inbox.
    mooring_warnings: 1,
  });
  await service.sql('truncate telemetry_inbox, telemetry, activation, license cascade');
  expect(Object.keys(await samples()).filter((name) => name.includes('age_days'))).toEqual([]);
});

test('the days since the most urgent erasure request was due are shown, and not shown without a request', async () => {
  // The job queue uses the database's clock. With the same time here, the job of the request does not become due.
  const before = service.clock.now();
  service.clock.set(new Date());
  const erasures = service.app.get(ErasureService);
  const { id } = await erasures.request('ada@example.com');
  // A request is due after 30 days.
  expect((await samples())['mooring_erasure_overdue_days']).toBe(-30);
  service.clock.advance(33 * 86_400_000);
  expect((await samples())['mooring_erasure_overdue_days']).toBe(3);
  await erasures.cancel(id);
  expect(await samples()).not.toHaveProperty('mooring_erasure_overdue_days');
  // The mail about the request has no recipient any more, so its job ends at the next attempt.
  await waitForJobs(service);
  service.clock.set(before);
});

test('erasures that TOMBSTONE_FILE lacks, and licenses that a restore left without an address, are counted', async () => {
  const before = await samples();
  expect(before).toMatchObject({ mooring_erasures_unrecorded: 0, mooring_licenses_without_address: 0 });
  await service.sql(
    `insert into erasure_request (id, asked_by, received_on, runs_at, honoured_at, erased)
     values (gen_random_uuid(), 'staff', '2026-11-20', $1, $1, '{}')`,
    [service.clock.now()],
  );
  await service.issue();
  // An ended license does not need an address.
  await service.issue({ expires_at: service.clock.now(), on_expiry: 'stop' });
  await service.sql('update license set email = null, address_lost_at = now()');
  expect(await samples()).toMatchObject({
    mooring_erasures_unrecorded: 1,
    mooring_licenses_without_address: 1,
    mooring_warnings: before['mooring_warnings']! + 2,
  });
  await service.sql('truncate erasure_request, license cascade');
});

test('waiting mails and failing mails are counted', async () => {
  const before = await samples();
  await service.sql(
    `select graphile_worker.add_job('mail_later', job_key := key, run_at := now() + interval '1 day')
     from unnest('{test a,test b}'::text[]) key`,
  );
  await service.sql(
    `update graphile_worker._private_jobs set attempts = 1, last_error = 'no' where key = 'test b'`,
  );
  expect(await samples()).toMatchObject({
    mooring_mails_waiting: before['mooring_mails_waiting']! + 2,
    mooring_mails_failing: before['mooring_mails_failing']! + 1,
  });
});

test.each(['/', '/metrics/', '/metrics?x=1', '/health/ready', '/v1/manifest'])(
  'the metrics port answers 404 to %s',
  async (path) => {
    const response = await fetch(url + path);
    expect([response.status, await response.text()]).toEqual([404, '']);
  },
);

test('the main port serves no metrics', async () => {
  expect((await service.call('GET', '/metrics')).status).toBe(404);
});

test('without METRICS_PORT there is no second port, and no request is counted', async () => {
  const without = await Service.beside(service);
  expect(without.app.get(MetricsService).address()).toBeUndefined();
  expect(without.app.getHttpAdapter().getInstance().requestCounts).toBeUndefined();
  await without.close();
});

test('a METRICS_PORT that is in use or invalid gives one sentence and exit code 2', async () => {
  const { url: DATABASE_URL } = await createDatabase();
  const port = String(await listen(createServer()));
  const settings = { PORT: '0', DATA_DIR: temporaryFolder(), DATABASE_URL };
  const [busy, wrong] = [port, '65536'].map(
    (METRICS_PORT) => new ServerProcess({ ...settings, METRICS_PORT }),
  );
  try {
    expect([(await busy!.exited).code, busy!.stderr]).toEqual([
      2,
      `Mooring cannot listen on HOST 127.0.0.1, METRICS_PORT ${port} (EADDRINUSE): another program uses the port; set another METRICS_PORT.\n`,
    ]);
    expect([(await wrong!.exited).code, wrong!.stderr]).toEqual([
      2,
      'METRICS_PORT must be a whole number from 0 to 65535.\n',
    ]);
  } finally {
    await Promise.all([busy!, wrong!].map((process) => process.end('SIGKILL')));
  }
});

test('the days until the live manifest expires are shown', async () => {
  await publish(service, '1.0.0');
  expect((await samples())['mooring_manifest_expires_in_days']).toBe(90);
  service.clock.advance(91 * 86_400_000);
  expect((await samples())['mooring_manifest_expires_in_days']).toBe(-1);
});
