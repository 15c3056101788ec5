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

// The job queue's own line about an unavailable database, beside what is logged of it.
jest.spyOn(console, 'trace').mockImplementation(() => undefined);

/*
 * The drill of docs/operations/restore.md. A database is lost under load, and comes back twice: once with its log, and
 * once as the backup alone has it. The difference is what a client was shown last.
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
/** What was acknowledged when the backup began. */
let before: { paid: string[]; bound: Bound[] };
/** Whose machines were released, erased or refunded after the backup, each by its token. */
let ada: Bound;
let moved: Bound;
let refunded: Bound;
/** Whose license got another address after the backup, and who was erased then. */
let passedOn: Bound;
/** The desks: of before the backup; on a license of before; on one sold since; and on the seat that was moved. */
let old: Computer;
let young: Computer;
let late: Computer;
let second: Computer;
/** Published after the backup; the publisher kept the file. */
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
  // The address is changed and erased later than the backup, by the clock as well.
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

/** A computer with the reference client, whose application never ends. */
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

/** Killed under load, its files gone; what its log held on another disk is saved. */
async function lose(): Promise<void> {
  await postgres.stop();
  await load!.more(4, ({ status }) => status === 503);
  await load!.stop();
  await service.close();
  copyWal(postgres.cluster, saved, (segment) => !existsSync(join(archive, segment)));
  rmSync(postgres.cluster, { recursive: true });
}

/** Waits until it is so; where the test was given up and its desks are closed, it never will be. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) {
    if (computers.some(({ rests }) => rests)) throw new Error('the desks are closed');
    await pause(10);
  }
}

/** Waits until each computer has had an answer to a heartbeat that it began from now on. */
async function heartbeatOnEveryComputer(): Promise<void> {
  const sent = ({ log }: Computer) => log.filter((line) => line.startsWith('heartbeat sent')).length;
  // The next one may have begun before.
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

/** No client was ever answered stop: each application went on from its activation to this moment. */
function expectNoneStopped(): void {
  for (const { states } of computers)
    expect(states.map(({ kind }) => kind)).toEqual([
      'not_activated',
      ...states.slice(1).map(() => 'running'),
    ]);
}

describe('with the archive, and the end of the log that was not yet in it', () => {
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

  test('no application notices but by a heartbeat or two that came to nothing', async () => {
    await heartbeatOnEveryComputer();
    expect(computers.filter(askedAgain)).toEqual([]);
    expectNoneStopped();
  });
});

describe('from the backup alone', () => {
  /** What the erased holder's machine was answered from before the start on. */
  let logBefore: string[];

  beforeAll(async () => {
    restored = new Restored(backup, postgres.url);
    const url = await restored.start({ archive_mode: 'off' });
    load = new Load([() => market.heartbeat(ada.token)]);
    service = await start(url);
    await load.more(3, ({ status }) => status !== 0);
    logBefore = (await load.stop()).filter(({ status }) => status !== 0).map(({ json }) => json.code);
  });

  test('all that was acknowledged before it is there', async () => {
    await expectPurchases(before.paid);
    await expectTheRest(before.bound);
  });

  test('who was erased since is erased again before any request is answered', async () => {
    expect(new Set(logBefore)).toEqual(new Set(['binding_released']));
    expect((await market.activate(ada)).json.code).toBe('license_not_found');
    const named = 'select 1 from license where email = $1 union all select 1 from purchase where email = $1';
    expect(await service.sql(named, [ada.email])).toEqual([]);
  });

  test('machines activated since activate again by themselves, and no application stops', async () => {
    await heartbeatOnEveryComputer();
    expect([old, young, late, second].map(askedAgain)).toEqual([false, true, true, true]);
    // Once where there is a license with a seat; the others ask again with each heartbeat, and go on.
    expect(young.activated.map(({ status }) => status)).toEqual([201, 201]);
    expect(new Set(late.activated.slice(1).map(({ status }) => status))).toEqual(new Set([404]));
    expect(new Set(second.activated.slice(1).map(({ status }) => status))).toEqual(new Set([409]));
    expectNoneStopped();
  });

  test('what was sold and refunded since comes back when the processor reports it again, once', async () => {
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

  test('each is the license it was, with the key that its buyer has', async () => {
    for (const { transaction_id, license_key } of market.bound)
      expect((await market.buyer(transaction_id)).license_key).toBe(license_key);
  });

  test('a license that changed hands since goes on without an address, where its former holder was erased', async () => {
    expect([await emailOfPassedOn(), await heartbeatOutcome(passedOn)]).toEqual([null, 200]);
    expect(await service.sql('select id from purchase where email = $1', [passedOn.email])).toEqual([]);
    expect((await service.call('GET', '/health/ready')).json.warnings).toContainEqual(
      expect.stringMatching(/^Licenses without an e-mail address since a restore: 1\./),
    );
  });

  test('who was erased since is not there again, whether the backup knew of them or not', async () => {
    expect((await sold(service, 'ada'))!.email).toBe('');
    expect(await sold(service, 'gone')).toMatchObject({ state: 'paid', license_id: null, email: '' });
    expect(await service.sql('select id from purchase where email = $1', [buyerOf('gone')])).toEqual([]);
  });

  test('the machine of a license bought since activates again by itself', async () => {
    await until(() => late.activated.at(-1)!.status === 201);
    expect(late.activated.at(-1)).toMatchObject({ machines_in_use: 1 });
    expectNoneStopped();
  });

  test('a seat that was moved since is moved once more, and its second machine has it by itself', async () => {
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

  test('the older manifest is refused by each client that has seen the newer, which is published again from its file', async () => {
    expect(service.app.get(ManifestService).live!.content.version).toBe('3.2');
    expect(await old.checkForUpdate()).toEqual({ available: false, reason: 'sequence_too_low' });
    await service.app.get(ManifestService).publish(newer, ACT);
    expect(await old.checkForUpdate()).toMatchObject({ available: true, newest_version: '3.3' });
  });
});
