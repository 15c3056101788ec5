import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { ReleaseService } from '../../src/releases/release.service.js';
import { migrate } from '../../src/database/migrations.js';
import type { SignedManifest } from '../../src/keys/manifests/signed-manifest.js';
import { ManifestService } from '../../src/manifest/manifest.service.js';
import {
  SalesSimulation,
  startArchiving,
  waitUntilArchived,
  type ActivatedMachine,
  type Buyer,
} from './backup-drill.js';
import { baseBackup, copyWal } from '../../bench/load/base-backup.js';
import { Restored } from './restored.js';
import { erase } from '../erasure/harness.js';
import { AUDIT_CONTEXT, FakeClock, Service } from '../support/harness.js';
import { FragilePostgres, Load, type Timed } from '../support/databases/outage-harness.js';
import { publish } from '../manifest/publish.js';
import { Computer } from '../keys/rotation-drill-computer.js';
import { freePort } from '../support/processes/server-process.js';
import { buyerOf, readPurchase, PURCHASE_SETTINGS } from '../support/http/webhook.js';
import { STORED_TELEMETRY } from '../support/tables.js';
import { temporaryFolder } from '../support/folders.js';

// The job queue library prints to the console that the database is unavailable, although the service logs it too.
jest.spyOn(console, 'trace').mockImplementation(() => undefined);

/*
 * The drill of docs/operations/restore.md. A database is lost under load and restored twice: once with its write-ahead log, and
 * once from the backup alone, without the changes that the service acknowledged after the backup.
 */
const folder = temporaryFolder();
const [backup, archive, savedWal] = ['backup', 'archive', 'saved-wal'].map((name) => join(folder, name)) as [
  string,
  string,
  string,
];
const clock = new FakeClock(new Date());
const sales = new SalesSimulation(() => service);
const computers: Computer[] = [];
let postgres: FragilePostgres;
let restored: Restored | undefined;
let service: Service;
let port: string;
let load: Load | undefined;
/** What the service had acknowledged when the backup began. */
let beforeBackup: { sales: string[]; machines: ActivatedMachine[] };
/** A machine whose holder was erased after the backup. */
let erased: ActivatedMachine;
/** A machine that was released after the backup, so that `movedTo` could be activated with its license. */
let moved: ActivatedMachine;
/** A machine whose license was refunded after the backup. */
let refunded: ActivatedMachine;
/** A machine whose license got another holder after the backup, and whose former holder was erased then. */
let passedOn: ActivatedMachine;
/** A computer that was activated before the backup. */
let activatedBefore: Computer;
/** A computer that was activated after the backup, with a license that was sold before it. */
let activatedAfter: Computer;
/** A computer whose license was sold after the backup. */
let soldAfter: Computer;
/** A computer that replaced the machine `moved` after the backup. */
let movedTo: Computer;
/** The manifest that was published after the backup. The publisher has its file. */
let newerManifest: SignedManifest;

/** The fewest machines, sales and heartbeats with telemetry that a check covers. */
const MIN_CHECKED = 21;
const isActivation = ({ name, status }: Timed) => name === 'activation' && status === 201;

const NEXT_HOLDER = 'next@example.com';
const readEmailOfPassedOn = async () =>
  (
    await service.sql(
      "select l.email from license l join purchase p on p.id = l.purchase_id where transaction_id = 'passed-on'",
    )
  )[0]!['email'];

const startService = (databaseUrl: string) =>
  Service.start({
    databaseUrl,
    clock,
    dataDir: join(folder, 'data'),
    environment: { ...PURCHASE_SETTINGS, PORT: port, TOMBSTONE_FILE: join(folder, 'erased.txt') },
  });

beforeAll(async () => {
  port = String(await freePort());
  postgres = await FragilePostgres.start();
  await startArchiving(postgres, archive);
  await migrate(postgres.url);
  service = await startService(postgres.url);
  await makeChangesBeforeBackup();
  load = new Load([
    sales.sellAndActivate,
    sales.sellAndActivate,
    sales.sendNextHeartbeat,
    sales.sendNextHeartbeat,
  ]);
  await load.waitFor(MIN_CHECKED, isActivation);
  beforeBackup = { sales: [...sales.acknowledgedSales], machines: [...sales.machines] };
  await baseBackup(postgres, backup);
  await makeChangesAfterBackup();
  await waitUntilArchived(postgres);
  await load.waitFor(MIN_CHECKED, isActivation);
  await loseDatabase();
});
afterAll(async () => {
  await load?.stop().catch(() => undefined);
  await Promise.all(computers.map((computer) => computer.close()));
  await service?.close().catch(() => undefined);
  await restored?.end();
});

async function makeChangesBeforeBackup(): Promise<void> {
  const sellAndActivate = async (name: string) => {
    const buyer = await sales.sell(name);
    await sales.activate(buyer);
    return sales.machines.at(-1)!;
  };
  erased = await sellAndActivate('erased');
  moved = await sellAndActivate('moved');
  refunded = await sellAndActivate('refunded');
  passedOn = await sellAndActivate('passed-on');
  await publish(service, '3.2');
  await sales.sell('unused');
  activatedBefore = await startComputer(await sales.sell('old'));
  await activatedBefore.checkForUpdate();
}

async function makeChangesAfterBackup(): Promise<void> {
  await load!.waitFor(MIN_CHECKED, isActivation);
  await erase(service, erased.email);
  // The clock advances, so that the address is changed and erased at a later time than that of the backup.
  clock.advance(1_000);
  await service.setLicense((await readPurchase(service, 'passed-on'))!.license_id!, { email: NEXT_HOLDER });
  await erase(service, passedOn.email);
  await sales.createEvent('refunded', 'refunded');
  await service.app.get(ReleaseService).release(moved.activation_id, AUDIT_CONTEXT);
  movedTo = await startComputer(moved);
  activatedAfter = await startComputer(await sales.findBuyer('unused'));
  soldAfter = await startComputer(await sales.sell('late'));
  await erase(service, (await sales.sell('sold-and-erased')).email);
  newerManifest = await publish(service, '3.3');
  expect(await activatedBefore.checkForUpdate()).toMatchObject({ available: true, newest_version: '3.3' });
}

/** Activates a computer with the reference client and starts its heartbeats. Its application is never restarted. */
async function startComputer(buyer: Buyer): Promise<Computer> {
  const { keys } = (await service.call('GET', '/v1/keys')).json as { keys: { for: string; x: string }[] };
  const trustedKeys = keys.filter((key) => key.for === 'update-manifest').map(({ x }) => x);
  const computer = new Computer(buyer, [service.url], join(folder, `computer-${computers.length}.json`), {
    trustedKeys,
  });
  await computer.activate();
  computer.startHeartbeats();
  computers.push(computer);
  return computer;
}

/** Kills the database under load, saves the write-ahead log that is not archived yet, and deletes the files of the database. */
async function loseDatabase(): Promise<void> {
  await postgres.stop();
  await load!.waitFor(4, ({ status }) => status === 503);
  await load!.stop();
  await service.close();
  copyWal(postgres.cluster, savedWal, (segment) => !existsSync(join(archive, segment)));
  rmSync(postgres.cluster, { recursive: true });
}

/** Waits until a condition is true. @throws Error if the test has failed and its computers are closed */
async function waitUntil(condition: () => boolean): Promise<void> {
  while (!condition()) {
    if (computers.some(({ hasEndedHeartbeats }) => hasEndedHeartbeats))
      throw new Error('The computers are closed, because the test has ended.');
    await pause(10);
  }
}

/** Waits until each computer has got the response to a heartbeat that it sent after this call. */
async function waitForHeartbeatOfEachComputer(): Promise<void> {
  const countResponses = ({ log }: Computer) =>
    log.filter((line) => line.startsWith('heartbeat sent')).length;
  // The next response may belong to a heartbeat that was sent before this call.
  const goals = computers.map((each) => countResponses(each) + 2);
  await waitUntil(() => computers.every((each, i) => countResponses(each) >= goals[i]!));
}

/** The statuses of a computer's activations, without 503, after which the computer tries again. */
const activationStatuses = ({ activationResponses }: Computer) =>
  activationResponses.map(({ status }) => status).filter((status) => status !== 503);
/** Whether the last activation succeeded. Its status is 200 if it repeats one whose response came too late. */
const isActivated = (computer: Computer) => [200, 201].includes(activationStatuses(computer).at(-1)!);
const wasAskedToReactivate = ({ log }: Computer) => log.includes('the service asked for a new activation');
/** Sends a heartbeat. @returns the error code, or the status of a response without one */
const heartbeatOutcome = async ({ token }: ActivatedMachine) => {
  const { status, json } = await sales.heartbeat(token);
  return json.code ?? status;
};

/** Expects that heartbeats are confirmed, except those of machines whose activation ended after the backup. */
async function expectOthersConfirmed(machines: readonly ActivatedMachine[]): Promise<void> {
  const rest = machines.filter((each) => ![erased, moved, refunded].includes(each));
  expect(rest.length).toBeGreaterThanOrEqual(MIN_CHECKED);
  for (const each of rest)
    expect([each.transaction_id, await heartbeatOutcome(each)]).toEqual([each.transaction_id, 200]);
}

async function expectPurchases(transactions: readonly string[]): Promise<void> {
  const rows = await service.sql<{ transaction_id: string }>(
    'select transaction_id from purchase p join license l on l.purchase_id = p.id where paid',
  );
  const known = new Set(rows.map(({ transaction_id }) => transaction_id));
  expect(transactions.length).toBeGreaterThanOrEqual(MIN_CHECKED);
  expect(transactions.filter((id) => !known.has(id))).toEqual([]);
}

/** Expects that each application has been running since its activation, because no client got `stop`. */
function expectNoneStopped(): void {
  for (const { states } of computers)
    expect(states.map(({ kind }) => kind)).toEqual([
      'not_activated',
      ...states.slice(1).map(() => 'running'),
    ]);
}

describe('after a restore with the archive and with the end of the write-ahead log that was not archived yet,', () => {
  beforeAll(async () => {
    restored = new Restored(backup, postgres.url);
    copyWal(savedWal, restored.cluster);
    writeFileSync(join(restored.cluster, 'recovery.signal'), '');
    const url = await restored.start({ archive_mode: 'off', restore_command: `cp ${archive}/%f %p` });
    service = await startService(url);
  });
  afterAll(async () => {
    await service.close();
    await restored!.end();
  });

  test('nothing that was acknowledged is lost', async () => {
    await expectPurchases(sales.acknowledgedSales);
    await expectOthersConfirmed(sales.machines);
    expect(await readEmailOfPassedOn()).toBe(NEXT_HOLDER);
    expect([
      await heartbeatOutcome(erased),
      await heartbeatOutcome(moved),
      await heartbeatOutcome(refunded),
    ]).toEqual(['binding_released', 'binding_released', 'license_refunded']);
    const [row] = await service.sql<{ rows: number }>(
      `select count(*)::int as rows from ${STORED_TELEMETRY}`,
    );
    expect(sales.storedTelemetry).toBeGreaterThanOrEqual(MIN_CHECKED);
    expect(row!.rows).toBeGreaterThanOrEqual(sales.storedTelemetry);
    expect(service.app.get(ManifestService).live!.content.version).toBe('3.3');
  });

  test('no client is asked to activate again, and no application stops', async () => {
    await waitForHeartbeatOfEachComputer();
    expect(computers.filter(wasAskedToReactivate)).toEqual([]);
    expectNoneStopped();
  });
});

describe('after a restore from the backup alone,', () => {
  /** The error codes of heartbeats of the erased holder's machine, which was sending them while the service started. */
  let codesDuringStart: string[];

  beforeAll(async () => {
    restored = new Restored(backup, postgres.url);
    const url = await restored.start({ archive_mode: 'off' });
    load = new Load([() => sales.heartbeat(erased.token)]);
    service = await startService(url);
    await load.waitFor(3, ({ status }) => status !== 0);
    codesDuringStart = (await load.stop()).filter(({ status }) => status !== 0).map(({ json }) => json.code);
  });

  test('the database contains everything that was acknowledged before the backup', async () => {
    await expectPurchases(beforeBackup.sales);
    await expectOthersConfirmed(beforeBackup.machines);
  });

  test('holders who were erased after the backup are erased again before any request is answered', async () => {
    expect(new Set(codesDuringStart)).toEqual(new Set(['binding_released']));
    expect((await sales.activate(erased)).json.code).toBe('license_not_found');
    const rowsOfHolder =
      'select 1 from license where email = $1 union all select 1 from purchase where email = $1';
    expect(await service.sql(rowsOfHolder, [erased.email])).toEqual([]);
  });

  test('machines that were activated after the backup try to activate again by themselves, and no application stops', async () => {
    await waitForHeartbeatOfEachComputer();
    expect([activatedBefore, activatedAfter, soldAfter, movedTo].map(wasAskedToReactivate)).toEqual([
      false,
      true,
      true,
      true,
    ]);
    // The license of `activatedAfter` allows its machine. The license of `soldAfter` is missing, and that of `movedTo` is still
    // used by `moved`: these two computers try again with each heartbeat, and continue to run.
    expect(activationStatuses(activatedAfter)).toHaveLength(2);
    expect(isActivated(activatedAfter)).toBe(true);
    expect(new Set(activationStatuses(soldAfter).slice(1))).toEqual(new Set([404]));
    expect(new Set(activationStatuses(movedTo).slice(1))).toEqual(new Set([409]));
    expectNoneStopped();
  });

  test('later purchases and refunds are stored once when the processor reports them again', async () => {
    expect(await heartbeatOutcome(refunded)).toBe(200);
    const licenses = async () => {
      const rows = await service.sql<{ transaction_id: string; id: string }>(
        'select transaction_id, l.id from purchase p join license l on l.purchase_id = p.id',
      );
      return new Map(rows.map(({ transaction_id, id }) => [transaction_id, id]));
    };
    const kept = await licenses();
    await sales.reportAll();
    const all = await licenses();
    await sales.reportAll();
    expect(await licenses()).toEqual(all);
    for (const [transaction, license] of kept) expect(all.get(transaction)).toBe(license);
    await expectPurchases(sales.acknowledgedSales.filter((transaction) => transaction !== 'sold-and-erased'));
    expect(await heartbeatOutcome(refunded)).toBe('license_refunded');
  });

  test('each purchase that was reported again has the license key that its buyer already has', async () => {
    for (const { transaction_id, license_key } of sales.machines)
      expect((await sales.findBuyer(transaction_id)).license_key).toBe(license_key);
  });

  test('a license that got another holder after the backup stays valid without an address if its former holder was erased', async () => {
    expect([await readEmailOfPassedOn(), await heartbeatOutcome(passedOn)]).toEqual([null, 200]);
    expect(await service.sql('select id from purchase where email = $1', [passedOn.email])).toEqual([]);
    expect((await service.call('GET', '/health/ready')).json.warnings).toContainEqual(
      expect.stringMatching(/^Licenses without an e-mail address since a restore: 1\./),
    );
  });

  test('data of holders who were erased after the backup is not restored, whether the backup contained it or not', async () => {
    expect((await readPurchase(service, 'erased'))!.email).toBe('');
    expect(await readPurchase(service, 'sold-and-erased')).toMatchObject({
      state: 'paid',
      license_id: null,
      email: '',
    });
    expect(
      await service.sql('select id from purchase where email = $1', [buyerOf('sold-and-erased')]),
    ).toEqual([]);
  });

  test('the machine of a license that was bought after the backup activates again by itself', async () => {
    await waitUntil(() => isActivated(soldAfter));
    expect(soldAfter.activationResponses.at(-1)).toMatchObject({ machines_in_use: 1 });
    expectNoneStopped();
  });

  test('if staff release the first machine of a moved license once more, the second machine activates by itself', async () => {
    await service.app.get(ReleaseService).release(moved.activation_id, AUDIT_CONTEXT);
    await waitUntil(() => isActivated(movedTo));
    expect(await heartbeatOutcome(moved)).toBe('binding_released');
    expectNoneStopped();
  });

  test('no license has more machines than it allows', async () => {
    const licensesOverLimit = `select l.id from license l join activation a on a.license_id = l.id and a.ended_at is null
      group by l.id having count(*) > l.machines_allowed`;
    expect(await service.sql(licensesOverLimit)).toEqual([]);
  });

  test('clients that have seen the newer manifest refuse the older one, until the newer is published again from its file', async () => {
    expect(service.app.get(ManifestService).live!.content.version).toBe('3.2');
    expect(await activatedBefore.checkForUpdate()).toEqual({ available: false, reason: 'sequence_too_low' });
    await service.app.get(ManifestService).publish(newerManifest, AUDIT_CONTEXT);
    expect(await activatedBefore.checkForUpdate()).toMatchObject({ available: true, newest_version: '3.3' });
  });
});
