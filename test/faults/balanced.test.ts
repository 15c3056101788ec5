import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import {
  HAS_HAPROXY,
  Instances,
  callUntilAnswered,
  openProxy,
  PROXY_NAME,
  waitUntilUsed,
  type Proxy,
  type RetriedAnswer,
} from '../support/databases/balanced-harness.js';
import { activation, createDatabase, connect, type TestDatabase } from '../support/harness.js';
import { Load, type Timed } from '../support/databases/outage-harness.js';
import type { ServerProcess } from '../support/processes/server-process.js';
import { STORED_TELEMETRY } from '../support/tables.js';
import type { SampleLicense } from '../support/databases/sample-license.js';
import { temporaryFolder } from '../support/folders.js';

/** The machine limit of the license. More machines than this activate, so that they compete for the limit. */
const MACHINES_ALLOWED = 60;
/** The proxy uses a restarted instance again within this time; on a slow machine the test allows more (`expectUsedAgain`). */
const MAX_REUSE_DELAY_MS = 10_000;

const describeAnswer = ({ name, status, brokenAttempts }: RetriedAnswer) =>
  `${name}: ${status} after ${brokenAttempts} broken attempts`;
const isAcknowledged = ({ status }: Timed) => status === 200 || status === 201;

/** With three instances, the proxy still has a choice while one is down. */
const INSTANCES = 3;

describe(`${INSTANCES} instances behind ${PROXY_NAME}`, () => {
  const directory = temporaryFolder();
  let database: TestDatabase;
  let client: pg.Client;
  let instances: Instances;
  let proxy: Proxy;
  let token: string;
  let license: SampleLicense;
  let counter = 0;
  let lastLoad: Load | undefined;

  beforeAll(async () => {
    database = await createDatabase();
    client = await connect(database.url);
    instances = await Instances.start(INSTANCES, { DATA_DIR: directory, DATABASE_URL: database.url });
    proxy = await openProxy(instances.ports);
    license = instances.sample;
    await client.query('update license set machines_allowed = $1', [MACHINES_ALLOWED]);
    ({
      json: { token },
    } = await callApi('activate', activation(license)));
    // The sample manifest that one instance has published reaches the others within seconds.
    for (const port of instances.ports)
      while ((await fetch(`http://127.0.0.1:${port}/v1/manifest`)).status !== 200) await pause(50);
  });

  // The load of a failed test still runs.
  afterEach(async () => void (await lastLoad?.stop().catch(() => undefined)));
  afterAll(async () => {
    await proxy?.close();
    await instances?.end();
  });

  const callApi = (path: string, body?: unknown) =>
    callUntilAnswered(path, proxy.url, body === undefined ? 'GET' : 'POST', `/v1/${path}`, body);
  const activate = () => callApi('activate', activation(license, `machine ${(counter += 1)}`));
  const sendHeartbeat = () => callApi('heartbeat', { token, app_version: '1.0.0' });
  const sendTelemetry = async () => {
    // A value of its own, by which its row is found.
    const uptime_hours = (counter += 1);
    const answer = await callApi('heartbeat', { token, app_version: '1.0.0', telemetry: { uptime_hours } });
    return { ...answer, json: { ...answer.json, uptime_hours } };
  };
  const startLoad = () => {
    const writers = [activate, activate, sendTelemetry, sendTelemetry];
    lastLoad = new Load([...writers, sendHeartbeat, sendHeartbeat, () => callApi('manifest')]);
    // Restarts take seconds. The instances need most of the processor time for them.
    lastLoad.pauseMs = 50;
    return lastLoad;
  };

  async function expectUsedAgain(instance: ServerProcess, load: Load): Promise<void> {
    const reuseDelayMs = await waitUntilUsed(instance);
    // The time of twenty responses shows how slow the machine is at the moment.
    const began = performance.now();
    await load.waitFor(20, isAcknowledged);
    expect(reuseDelayMs).toBeLessThan(MAX_REUSE_DELAY_MS + 10 * (performance.now() - began));
  }

  /** Expects that requests were refused only by the machine limit, and that the database contains what was acknowledged. */
  async function expectNothingLost(all: Timed[]): Promise<void> {
    const answers = all as RetriedAnswer[];
    const refusals = answers.filter((answer) => !isAcknowledged(answer));
    const outcomes = new Set(
      refusals.map(({ json }) => `${json.code} ${json.machines_in_use} of ${MACHINES_ALLOWED}`),
    );
    expect(
      [...outcomes].filter(
        (each) => each !== `machine_limit_reached ${MACHINES_ALLOWED} of ${MACHINES_ALLOWED}`,
      ),
    ).toEqual([]);
    // If an instance fails, HAProxy retries the request at another one. The TCP forwarder, which replaces HAProxy where it is not
    // installed, leaves the retry to the client.
    if (HAS_HAPROXY)
      expect(answers.filter(({ brokenAttempts }) => brokenAttempts > 0).map(describeAnswer)).toEqual([]);

    const { rows } = await client.query<{ id: string }>('select id from activation where ended_at is null');
    const ids = new Set(rows.map(({ id }) => id));
    expect(ids.size).toBeLessThanOrEqual(MACHINES_ALLOWED);
    const activations = answers.filter((answer) => answer.name === 'activate' && isAcknowledged(answer));
    expect(activations.filter(({ json }) => !ids.has(json.activation.id as string))).toEqual([]);
    const storedHours = answers
      .filter(({ json }) => json.telemetry?.stored)
      .map(({ json }) => json.uptime_hours);
    const stored = await client.query<{ uptime_hours: number }>(`select * from ${STORED_TELEMETRY}`);
    const hoursInDatabase = new Set(stored.rows.map(({ uptime_hours }) => uptime_hours));
    expect(storedHours.length).toBeGreaterThan(0);
    expect(storedHours.filter((each) => !hoursInDatabase.has(each))).toEqual([]);
  }

  test('an instance hangs: HAProxy marks it as down, the others continue, and the instance is used again when it responds', async () => {
    const load = startLoad();
    await load.waitFor(20, isAcknowledged);
    const [frozen] = instances.processes;
    // The TCP forwarder does not check instances, so these two waits end at once with it.
    const detectedDown = proxy.waitForInstanceState('one', 'DOWN');
    frozen!.child.kill('SIGSTOP');
    await Promise.all([detectedDown, load.waitFor(40, isAcknowledged)]);
    const detectedUp = proxy.waitForInstanceState('one', 'UP');
    frozen!.child.kill('SIGCONT');
    await expectUsedAgain(frozen!, load);
    await detectedUp;
    await expectNothingLost(await load.stop());
  });

  test('one instance is killed, and the others are restarted one after the other, with a newer schema: every request is answered', async () => {
    // The database has the schema of a newer version: an additional column, and a migration that this version does not know.
    await client.query('alter table license add column of_a_newer_version text');
    await client.query(`insert into schema_migration (timestamp, name) values (9999, 'Newer0000000009999')`);
    const load = startLoad();
    for (const index of instances.ports.keys()) {
      await load.waitFor(40, isAcknowledged);
      const [signal, end] =
        index === 0
          ? (['SIGKILL', { code: null, signal: 'SIGKILL' }] as const)
          : (['SIGTERM', { code: 0, signal: null }] as const);
      expect(await instances.processes[index]!.end(signal)).toEqual(end);
      await load.waitFor(40, isAcknowledged);
      await expectUsedAgain(await instances.startInstance(index), load);
    }
    await load.waitFor(20, isAcknowledged);
    await expectNothingLost(await load.stop());
    const { rows } = await client.query('select 1 from activation where ended_at is null');
    expect(rows).toHaveLength(MACHINES_ALLOWED);
  });
});
