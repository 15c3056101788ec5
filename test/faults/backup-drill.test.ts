import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { ReleaseService } from '../../src/releases/release.service.js';
import { migrate } from '../../src/database/migrations.js';
import type { SignedManifest } from '../../src/keys/manifests/signed-manifest.js';
import { ManifestService } from '../../src/manifest/manifest.service.js';
import { archived, archiveTo, Market, type Bound, type Buyer } from './backup-drill.js';
import { baseBackup, copyWal, Restored } from '../support/databases/base-backup.js';
import { ACT, erase } from '../erasure/harness.js';
import { FakeClock, Service } from '../support/harness.js';
import { FragilePostgres, Load, type Timed } from '../support/databases/outage-harness.js';
import { publish } from '../manifest/publish.js';
import { Computer } from '../keys/rotation-drill-computer.js';
import { freePort } from '../support/processes/server-process.js';
import { buyerOf, sold, TAKES_PURCHASES } from '../support/http/webhook.js';

// The log line of the job queue library about an unavailable database, in addition to that of the service.
jest.spyOn(console, 'trace').mockImplementation(() => undefined);

/*
 * The drill of docs/operations/restore.md. A database is lost under load and restored twice: once with its write-ahead log, and
 * once from the backup alone, without what clients were answered after it.
 */
const folder = mkdtempSync(join(tmpdir(), 'mooring-backup-'));
const [backup, archive, saved] = ['backup', 'archive', 'saved'].map((name) => join(folder, name)) as [
  string,
  string,
  string,
];
const clock = new FakeClock(new Date());
const market = new Market(() => service);
const computers: Computer[] = [];
let postgres: FragilePostgres;
let restored: Restored | undefined;
let service: Service;
let port: string;
let load: Load | undefined;
/** What had been acknowledged when the backup began. */
let before: { paid: string[]; bound: Bound[] };
/** The tokens of the machines whose licenses were released, erased or refunded after the backup. */
let ada: Bound;
let moved: Bound;
let refunded: Bound;
/** The licenses that got another address after the backup, and the holders that were erased after it. */
let passedOn: Bound;
/** The computers: activated before the backup; after it; with a license sold after it; with an activation moved after it. */
let old: Computer;
let young: Computer;
let late: Computer;
let second: Computer;
/** The manifest that was published after the backup. The publisher has its file. */
let newer: SignedManifest;

const activations = ({ name, status }: Timed) => name === 'activation' && status === 201;

const NEXT_HOLDER = 'next@example.com';
const emailOfPassedOn = async () =>
  (
    await service.sql(
      "select l.email from license l join purchase p on p.id = l.purchase_id where transaction_id = 'passed-on'",
    )
  )[0]!['email'];

const start = (databaseUrl: string) =>
  Service.start({
    databaseUrl,
    clock,
    dataDir: join(folder, 'data'),
    environment: { ...TAKES_PURCHASES, PORT: port, TOMBSTONE_FILE: join(folder, 'erased.txt') },
  });

beforeAll(async () => {
  port = String(await freePort());
  postgres = await FragilePostgres.start();
  await archiveTo(postgres, archive);
  await migrate(postgres.url);
  service = await start(postgres.url);
  await stateBefore();
  load = new Load([market.saleAndActivation, market.saleAndActivation, market.beat, market.beat]);
  await load.more(21, activations);
  before = { paid: [...market.paid], bound: [...market.bound] };
  await baseBackup(postgres, backup);
  await stateSince();
  await archived(postgres);
  await load.more(21, activations);
  await lose();
});
afterAll(async () => {
  await load?.stop().catch(() => undefined);
  await Promise.all(computers.map((computer) => computer.close()));
  await service?.close().catch(() => undefined);
  await restored?.end();
  await postgres?.end();
  rmSync(folder, { recursive: true, force: true });
});

async function stateBefore(): Promise<void> {
  const bound = async (name: string) => {
    const buyer = await market.sell(name);
    await market.activate(buyer);
    return market.bound.at(-1)!;
  };
  [ada, moved, refunded] = [await bound('ada'), await bound('moved'), await bound('refunded')];
  passedOn = await bound('passed-on');
  await publish(service, '3.2');
  await market.sell('unused');
  old = await computer(await market.sell('old'));
  await old.checkForUpdate();
}

async function stateSince(): Promise<void> {
  await load!.more(21, activations);
  await erase(service, ada.email);
  // The clock advances, so that the address is changed and erased at a later time than that of the backup.
  clock.advance(1_000);
  await service.setLicense((await sold(service, 'passed-on'))!.license_id!, { email: NEXT_HOLDER });
  await erase(service, passedOn.email);
  await market.happens('refunded', 'refunded');
  await service.app.get(ReleaseService).release(moved.activation_id, ACT);
  second = await computer(moved);
  young = await computer(await market.buyer('unused'));
  late = await computer(await market.sell('late'));
  await erase(service, (await market.sell('gone')).email);
  newer = await publish(service, '3.3');
  expect(await old.checkForUpdate()).toMatchObject({ available: true, newest_version: '3.3' });
}

/** A computer with the reference client, whose application is not restarted. */
async function computer(buyer: Buyer): Promise<Computer> {
  const { keys } = (await service.call('GET', '/v1/keys')).json as { keys: { for: string; x: string }[] };
  const trustedKeys = keys.filter((key) => key.for === 'update-manifest').map(({ x }) => x);
  const made = new Computer(buyer, [service.url], join(folder, `computer-${computers.length}.json`), {
    trustedKeys,
  });
  await made.activate();
  made.begin();
  computers.push(made);
  return made;
}

/** Kills the database under load and deletes its files. The write-ahead log on another disk is saved. */
async function lose(): Promise<void> {
  await postgres.stop();
  await load!.more(4, ({ status }) => status === 503);
  await load!.stop();
  await service.close();
  copyWal(postgres.cluster, saved, (segment) => !existsSync(join(archive, segment)));
  rmSync(postgres.cluster, { recursive: true });
}

/** Waits until a condition holds. @throws if the test has failed and its computers are closed */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) {
    if (computers.some(({ rests }) => rests))
      throw new Error('The computers are closed, because the test has ended.');
    await pause(10);
  }
}

/** Waits until each computer has got a response to a heartbeat that it began after this call. */
async function heartbeatOnEveryComputer(): Promise<void> {
  const sent = ({ log }: Computer) => log.filter((line) => line.startsWith('heartbeat sent')).length;
  // The next response may be that of a heartbeat that began before.
  const goals = computers.map((each) => sent(each) + 2);
  await until(() => computers.every((each, i) => sent(each) >= goals[i]!));
}

const askedAgain = ({ log }: Computer) => log.includes('the service asked for a new activation');
const heartbeatOutcome = async ({ token }: Bound) => {
  const { status, json } = await market.heartbeat(token);
  return json.code ?? status;
};

async function expectTheRest(bound: readonly Bound[]): Promise<void> {
  const rest = bound.filter((each) => ![ada, moved, refunded].includes(each));
  expect(rest.length).toBeGreaterThan(20);
  for (const each of rest)
    expect([each.transaction_id, await heartbeatOutcome(each)]).toEqual([each.transaction_id, 200]);
}

async function expectPurchases(paid: readonly string[]): Promise<void> {
  const rows = await service.sql<{ transaction_id: string }>(
    'select transaction_id from purchase p join license l on l.purchase_id = p.id where paid',
  );
  const known = new Set(rows.map(({ transaction_id }) => transaction_id));
  expect(paid.length).toBeGreaterThan(20);
  expect(paid.filter((id) => !known.has(id))).toEqual([]);
}

/** Expects that no client ever got `stop`: each application has run since its activation. */
function expectNoneStopped(): void {
  for (const { states } of computers)
    expect(states.map(({ kind }) => kind)).toEqual([
      'not_activated',
      ...states.slice(1).map(() => 'running'),
    ]);
}

describe('restored with the archive and the end of the write-ahead log that was not archived yet', () => {
  beforeAll(async () => {
    restored = new Restored(backup, postgres.url);
    copyWal(saved, restored.cluster);
    writeFileSync(join(restored.cluster, 'recovery.signal'), '');
    const url = await restored.start({ archive_mode: 'off', restore_command: `cp ${archive}/%f %p` });
    service = await start(url);
  });
  afterAll(async () => {
    await service.close();
    await restored!.end();
  });

  test('nothing that was acknowledged is lost', async () => {
    await expectPurchases(market.paid);
    await expectTheRest(market.bound);
    expect(await emailOfPassedOn()).toBe(NEXT_HOLDER);
    expect([
      await heartbeatOutcome(ada),
      await heartbeatOutcome(moved),
      await heartbeatOutcome(refunded),
    ]).toEqual(['binding_released', 'binding_released', 'license_refunded']);
    const [row] = await service.sql<{ rows: number }>('select count(*)::int as rows from telemetry_inbox');
    expect(market.telemetry).toBeGreaterThan(20);
    expect(row!.rows).toBeGreaterThanOrEqual(market.telemetry);
    expect(service.app.get(ManifestService).live!.content.version).toBe('3.3');
  });

  test('applications notice nothing except that one or two heartbeats fail', async () => {
    await heartbeatOnEveryComputer();
    expect(computers.filter(askedAgain)).toEqual([]);
    expectNoneStopped();
  });
});

describe('restored from the backup alone', () => {
  /** The responses to the machine of the erased holder since before the start of the service. */
  let logBefore: string[];

  beforeAll(async () => {
    restored = new Restored(backup, postgres.url);
    const url = await restored.start({ archive_mode: 'off' });
    load = new Load([() => market.heartbeat(ada.token)]);
    service = await start(url);
    await load.more(3, ({ status }) => status !== 0);
    logBefore = (await load.stop()).filter(({ status }) => status !== 0).map(({ json }) => json.code);
  });

  test('contains all that was acknowledged before the backup', async () => {
    await expectPurchases(before.paid);
    await expectTheRest(before.bound);
  });

  test('holders who were erased after the backup are erased again before any request is answered', async () => {
    expect(new Set(logBefore)).toEqual(new Set(['binding_released']));
    expect((await market.activate(ada)).json.code).toBe('license_not_found');
    const named = 'select 1 from license where email = $1 union all select 1 from purchase where email = $1';
    expect(await service.sql(named, [ada.email])).toEqual([]);
  });

  test('machines that were activated after the backup activate again by themselves, and no application stops', async () => {
    await heartbeatOnEveryComputer();
    expect([old, young, late, second].map(askedAgain)).toEqual([false, true, true, true]);
    // They activate once if the license has a free machine; the others try again with each heartbeat, and continue to run.
    expect(young.activated.map(({ status }) => status)).toEqual([201, 201]);
    expect(new Set(late.activated.slice(1).map(({ status }) => status))).toEqual(new Set([404]));
    expect(new Set(second.activated.slice(1).map(({ status }) => status))).toEqual(new Set([409]));
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
    await market.tellAll();
    const all = await licenses();
    await market.tellAll();
    expect(await licenses()).toEqual(all);
    for (const [transaction, license] of kept) expect(all.get(transaction)).toBe(license);
    await expectPurchases(market.paid.filter((transaction) => transaction !== 'gone'));
    expect(await heartbeatOutcome(refunded)).toBe('license_refunded');
  });

  test('each of these purchases has the same license as before, with the key that its buyer has', async () => {
    for (const { transaction_id, license_key } of market.bound)
      expect((await market.buyer(transaction_id)).license_key).toBe(license_key);
  });

  test('a license that got another holder after the backup stays valid without an address if its former holder was erased', async () => {
    expect([await emailOfPassedOn(), await heartbeatOutcome(passedOn)]).toEqual([null, 200]);
    expect(await service.sql('select id from purchase where email = $1', [passedOn.email])).toEqual([]);
    expect((await service.call('GET', '/health/ready')).json.warnings).toContainEqual(
      expect.stringMatching(/^Licenses without an e-mail address since a restore: 1\./),
    );
  });

  test('data of holders who were erased after the backup is not restored, whether the backup contained it or not', async () => {
    expect((await sold(service, 'ada'))!.email).toBe('');
    expect(await sold(service, 'gone')).toMatchObject({ state: 'paid', license_id: null, email: '' });
    expect(await service.sql('select id from purchase where email = $1', [buyerOf('gone')])).toEqual([]);
  });

  test('the machine of a license that was bought after the backup activates again by itself', async () => {
    await until(() => late.activated.at(-1)!.status === 201);
    expect(late.activated.at(-1)).toMatchObject({ machines_in_use: 1 });
    expectNoneStopped();
  });

  test('after an activation that was moved to a second machine is released once more, that machine activates by itself', async () => {
    await service.app.get(ReleaseService).release(moved.activation_id, ACT);
    await until(() => second.activated.at(-1)!.status === 201);
    expect(await heartbeatOutcome(moved)).toBe('binding_released');
    expectNoneStopped();
  });

  test('no license has more machines than it allows', async () => {
    const over = `select l.id from license l join activation a on a.license_id = l.id and a.ended_at is null
      group by l.id having count(*) > l.machines_allowed`;
    expect(await service.sql(over)).toEqual([]);
  });

  test('clients that have seen the newer manifest refuse the older one, until the newer is published again from its file', async () => {
    expect(service.app.get(ManifestService).live!.content.version).toBe('3.2');
    expect(await old.checkForUpdate()).toEqual({ available: false, reason: 'sequence_too_low' });
    await service.app.get(ManifestService).publish(newer, ACT);
    expect(await old.checkForUpdate()).toMatchObject({ available: true, newest_version: '3.3' });
  });
});
