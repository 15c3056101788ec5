import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { DataSource } from 'typeorm';
import { ReleaseService } from '../../src/releases/release.service.js';
import { DAY_MS } from '../../src/core/clock.js';
import { LicensesService } from '../../src/licenses/licenses.service.js';
import { ReleaseRequests } from '../../src/releases/release-requests.js';
import { enqueueMail } from '../../src/mail/mail.service.js';
import { PurchasesService } from '../../src/purchases/purchases.service.js';
import { ErasureService } from '../../src/erasure/erasure.service.js';
import type { Erasure } from '../../src/http/responses/api-types.js';
import { RetentionService } from '../../src/retention/retention.service.js';
import { query } from '../support/databases/replica-harness.js';
import { erase, findRequest, waitForJobs, waitForSentMails, waitUntilCarriedOut, sell } from './harness.js';
import {
  AUDIT_CONTEXT,
  copyDatabase,
  createDatabase,
  FakeClock,
  Service,
  type TestDatabase,
} from '../support/harness.js';
import { formsOfText, LeakSearch } from '../support/leak-search.js';
import { everyRow } from '../support/tables.js';
import { temporaryFolder } from '../support/folders.js';

/** Far in the future, so that no job of a holder's request is due: the job queue uses the database's clock. */
const NOON = '2096-02-10T12:00:00Z';
const HOUR_MS = 3_600_000;
const [ADA, BOB] = ['ada@leak.example', 'bob@example.com'];
/** Further holders who are erased, in tests that have several cases in one database. */
const [EVE, IVY, UMA] = ['eve@leak.example', 'ivy@leak.example', 'uma@leak.example'];
/** Finds the personal data of the erased holders. No other data contains the word Kanari. */
const search = new LeakSearch([ADA, EVE, IVY, UMA, 'Kanari Studio', 'Kanari sold it'].flatMap(formsOfText));

const root = temporaryFolder();
let services: Service[] = [];
let dataDir: string;
let file: string;
let clock: FakeClock;
let original: TestDatabase;

const empty = await createDatabase();
// In 2096 they would be overdue for deletion, which causes a warning.
await query(empty.url, "delete from retention_run where started_at < '2096-01-01'");

beforeEach(async () => {
  dataDir = mkdtempSync(join(root, 'data-'));
  file = join(dataDir, 'erased.txt');
  clock = new FakeClock(NOON);
  original = await copyDatabase(empty);
});
afterEach(stop);

async function start({ url }: { url: string }): Promise<Service> {
  const environment = { DEFAULT_MACHINES_PER_LICENSE: '3' };
  const service = await Service.start({ databaseUrl: url, dataDir, clock, environment });
  services.push(service);
  return service;
}

/** Closes every service, because only a database without connections can be copied. */
async function stop(): Promise<void> {
  for (const service of services) await service.close();
  services = [];
}

/** Copies the original, as a backup of this time that has been restored. */
async function backup(): Promise<TestDatabase> {
  await stop();
  return copyDatabase(original);
}

/** Closes every service and starts one on this database. At its start it repeats the erasures of the tombstone file. */
async function restart(database: { url: string }): Promise<Service> {
  await stop();
  return start(database);
}

/** Makes a backup, gives the licenses to Bob, and erases their holders. @returns the backup */
async function backupThenHandOver(licenses: readonly { id: string; email: string }[]): Promise<TestDatabase> {
  const restored = await backup();
  const service = await start(original);
  clock.advance(HOUR_MS);
  for (const { id } of licenses) await service.setLicense(id, { email: BOB });
  clock.advance(HOUR_MS);
  for (const { email } of licenses) await erase(service, email);
  await waitForJobs(service);
  return restored;
}

const emailOf = async (service: Service, id: string) =>
  (await service.sql('select email from license where id = $1', [id]))[0]?.['email'];
const leaks = async (service: Service) => [...search.in((await everyRow(service.database)).join('\n'))];
const erasuresOf = (service: Service) => service.app.get(ErasureService);
const warnings = async (service: Service): Promise<string[]> =>
  (await service.call('GET', '/health/ready')).json.warnings;

/** Creates a license with an active machine, a released one, and release requests with a reason. */
async function createLicense(service: Service, transaction?: string, email = ADA) {
  const license = transaction
    ? await sellTo(service, email, transaction)
    : await service.issue({ email, machines_allowed: 3 });
  const activate = async (machine: string) =>
    (await service.activate(license, machine, { hostname_hint: `Kanari Studio ${machine}` })).json;
  const [released, active] = [await activate('released'), await activate('active')];
  const ids = [released, active].map(({ activation }) => activation.id as string) as [string, string];
  for (const id of ids) await service.app.get(ReleaseRequests).create(id, 'Kanari sold it');
  await service.app.get(ReleaseService).release(ids[0], AUDIT_CONTEXT);
  return { id: license.license_id, license_key: license.license_key, email, token: active.token as string };
}

async function sellTo(service: Service, email: string, transaction: string) {
  const license_id = await sell(service, email, transaction);
  const license_key = (await service.app.get(LicensesService).currentKey(license_id))!;
  return { license_id, license_key, email };
}

/** Adds other rows with an address: a code, a session and a waiting mail. */
async function addPendingData(service: Service, email = ADA): Promise<void> {
  const later = new Date(clock.now().getTime() + HOUR_MS);
  const [id, hash, now] = [randomUUID(), randomBytes(32), clock.now()];
  await service.sql('insert into one_time_code values ($1, $2, 0, $3, $4)', [id, email, now, later]);
  await service.sql(
    'insert into session (id, token_hash, email, created_at, expires_at) values ($1, $2, $3, $4, $5)',
    [id, hash, email, now, later],
  );
  await service.app.get(DataSource).transaction(async (manager) => {
    await enqueueMail(manager, 'email_changed', id, now, { to: email });
    await manager.query(
      `select graphile_worker.reschedule_jobs(array(select id from graphile_worker.jobs where key like '%' || $1), run_at := '2096-01-01')`,
      [id],
    );
  });
}

describe('a license that got another holder after the backup and whose former holder was then erased', () => {
  test('loses its address and keeps its machine active, whether bought or issued, and a warning asks staff to set the address again', async () => {
    let service = await start(original);
    const licenses = [await createLicense(service, 'txn_1'), await createLicense(service, undefined, EVE)];
    for (const { email } of licenses) await addPendingData(service, email);
    const restored = await backupThenHandOver(licenses);
    service = await restart(restored);
    expect(await leaks(service)).toEqual([]);
    const staff = { authorization: `Bearer ${await service.staffToken()}` };
    for (const { id, license_key, email: former, token } of licenses) {
      expect((await service.heartbeat(token)).status).toBe(200);
      expect(await service.sql('select email, ended_at from license where id = $1', [id])).toEqual([
        { email: null, ended_at: null },
      ]);
      // Its machine can activate again with its key and any address; another machine cannot.
      for (const email of [former, BOB]) {
        const credentials = { license_key, email };
        expect((await service.activate(credentials, 'active')).status).toBe(200);
        expect((await service.activate(credentials, 'another')).json.code).toBe('license_not_found');
      }
      const seen = await service.call('GET', `/support/api/licenses/${id}`, undefined, staff);
      expect(seen.json.license).toMatchObject({ email: null, is_address_lost: true, status: 'active' });
    }
    expect(await warnings(service)).toEqual([
      'Licenses without an e-mail address since a restore: 2. mooring status names them; set it with mooring license set --email.',
    ]);
    // Retention does not delete the licenses as erased licenses, and a later start does not erase them.
    clock.advance(400 * DAY_MS);
    await service.app.get(RetentionService).run();
    service = await restart(restored);
    for (const { id } of licenses) await service.setLicense(id, { email: BOB });
    expect(await warnings(service)).toEqual([expect.stringMatching(/^TOMBSTONE_FILE has blocks/)]);
    service = await restart(restored);
    for (const { id, token } of licenses)
      expect([await emailOf(service, id), (await service.heartbeat(token)).status]).toEqual([BOB, 200]);
  });

  test('loses its address and stays valid also if it was bought and the tombstone file has the format of an older version', async () => {
    let service = await start(original);
    const { id, token } = await createLicense(service, 'txn_1');
    await addPendingData(service);
    const restored = await backup();
    service = await start(original);
    await service.setLicense(id, { email: BOB });
    await erase(service, ADA);
    await waitForJobs(service);
    const old = readFileSync(file, 'utf8').replaceAll(/^(at|database|address) .*\n/gm, '');
    writeFileSync(file, old);
    service = await restart(restored);
    expect([await emailOf(service, id), await leaks(service)]).toEqual([null, []]);
    expect((await service.heartbeat(token)).status).toBe(200);
  });
});

describe('an erased person who gets licenses again', () => {
  test('keeps new purchases and licenses from staff at each later start, also with a restored database', async () => {
    let service = await start(original);
    const first = await createLicense(service, 'txn_1');
    const restored = await backup();
    service = await start(original);
    clock.advance(HOUR_MS);
    await erase(service, ADA);
    await waitForJobs(service);
    for (const database of [original, restored]) {
      clock.advance(HOUR_MS);
      service = await restart(database);
      clock.advance(HOUR_MS);
      const again = await sell(service, ADA, 'again');
      const issued = await service.issue({ email: BOB });
      await service.setLicense(issued.license_id, { email: ADA });
      await erasuresOf(service).request(ADA);
      for (let starts = 0; starts < 2; starts += 1) {
        service = await restart(database);
        const licensesOfAda = await service.sql('select id from license where email = $1 order by id', [ADA]);
        expect(licensesOfAda.map(({ id }) => id)).toEqual([again, issued.license_id].toSorted());
        expect(await emailOf(service, first.id)).toBeNull();
        const waiting = await service.sql('select 1 from erasure_request where email = $1', [ADA]);
        expect(waiting).toHaveLength(1);
      }
    }
  });

  test('keeps a new purchase also if the row of the erasure request was deleted', async () => {
    let service = await start(original);
    await createLicense(service);
    clock.advance(HOUR_MS);
    await erase(service, ADA);
    clock.advance(HOUR_MS);
    const again = await sell(service, ADA, 'again');
    await waitForJobs(service);
    await service.sql('delete from erasure_request');
    service = await restart(original);
    expect(await emailOf(service, again)).toBe(ADA);
  });
});

describe('if a clock was ahead by a year when data was stored,', () => {
  const YEAR_MS = 365 * DAY_MS;

  /** Does something while the clock is ahead. */
  async function whileAhead<Result>(work: () => Promise<Result>): Promise<Result> {
    clock.advance(YEAR_MS);
    const result = await work();
    clock.advance(-YEAR_MS);
    return result;
  }

  test('a license is erased again after a restore, whether it was sold, issued or given to its holder then', async () => {
    let service = await start(original);
    const licenses = await whileAhead(async () => {
      const other = await service.issue({ email: BOB });
      await service.setLicense(other.license_id, { email: IVY });
      return [
        await sellTo(service, ADA, 'txn_1'),
        await service.issue({ email: EVE }),
        { ...other, email: IVY },
      ];
    });
    const tokens: string[] = [];
    for (const license of licenses) {
      const { json } = await service.activate(license, 'active', { hostname_hint: 'Kanari Studio' });
      tokens.push(json.token);
    }
    await waitForJobs(service);
    const restored = await backup();
    service = await start(original);
    clock.advance(HOUR_MS);
    for (const { email } of licenses) await erase(service, email);
    await waitForJobs(service);
    service = await restart(restored);
    await waitForSentMails(service);
    expect(await leaks(service)).toEqual([]);
    for (const [index, { license_id }] of licenses.entries()) {
      expect(await emailOf(service, license_id)).toBeNull();
      expect((await service.heartbeat(tokens[index]!)).json.code).toBe('binding_released');
    }
  });

  test('the address of a former holder who was erased is removed again, whether the license was bought or issued', async () => {
    let service = await start(original);
    const licenses = await whileAhead(async () => {
      const created = [await createLicense(service, 'txn_1'), await createLicense(service, undefined, EVE)];
      for (const { email } of created) await addPendingData(service, email);
      return created;
    });
    service = await restart(await backupThenHandOver(licenses));
    await waitForSentMails(service);
    expect(await leaks(service)).toEqual([]);
    for (const { token } of licenses) expect((await service.heartbeat(token)).status).toBe(200);
  });

  test('a purchase, a code, a session, the recipient of a mail and an erasure request in a copy that does not know the erasure yet are erased', async () => {
    let service = await start(original);
    const copy = await backup();
    service = await start(copy);
    await whileAhead(async () => {
      await sell(service, ADA, 'txn_1');
      await addPendingData(service, EVE);
      const recipient = [randomUUID(), IVY, clock.now()];
      await service.sql('insert into mail_recipient values ($1, $2, $3)', recipient);
      await erasuresOf(service).request(UMA);
    });
    await waitForJobs(service, 'mail%');
    service = await restart(original);
    for (const email of [ADA, EVE, IVY, UMA]) await erase(service, email);
    await waitForJobs(service);
    service = await restart(copy);
    await waitForJobs(service);
    expect(await leaks(service)).toEqual([]);
  });
});

test('a clock that is behind at a restart does not erase a license that another holder got after the erasure', async () => {
  // The service has the real time at first, as the database has. Later its clock is behind, and a stored time that is ahead of it
  // still counts, because only a time that is ahead of both clocks is ignored.
  clock.set(new Date());
  let service = await start(original);
  const { id, token } = await createLicense(service);
  await erase(service, ADA);
  // The state of a promoted standby that lacks the erasure.
  await service.sql('update license set email = $2, ended_at = null where id = $1', [id, ADA]);
  await service.sql(
    `update activation set ended_at = null, ended_reason = null, machine_id = '\\x${'07'.repeat(32)}'
     where id = (select id from activation where license_id = $1 order by activated_at desc, id desc limit 1)`,
    [id],
  );
  clock.advance(60_000);
  await service.setLicense(id, { email: BOB });
  clock.advance(-DAY_MS);
  service = await restart(original);
  expect([await emailOf(service, id), (await service.heartbeat(token)).status]).toEqual([BOB, 200]);
});

test('an erasure whose request retention has deleted is not recorded as repeated', async () => {
  let service = await start(original);
  await createLicense(service);
  await erase(service, ADA);
  clock.set('2097-02-10T12:00:00Z');
  await service.app.get(RetentionService).run();
  expect(await service.sql('select 1 from erasure_request')).toEqual([]);
  service = await restart(original);
  expect(await service.sql('select 1 from repeated_erasure')).toEqual([]);
});

test('if an erasure was written to the file but not committed, a license that then got another holder stays valid', async () => {
  let service = await start(original);
  const { id, token } = await createLicense(service);
  const request = await erasuresOf(service).request(ADA);
  const [identity] = await service.sql<{ id: string }>('select id from database_identity');
  const lines = [`at ${clock.now().toISOString()}`, `database ${identity!.id}`, `license ${id}`];
  writeFileSync(file, `\n\n${[...lines, `erasure_request ${request.id}`].join('\n')}\n`, { flag: 'a' });
  clock.advance(HOUR_MS);
  await service.setLicense(id, { email: BOB });
  service = await restart(original);
  expect([await emailOf(service, id), (await service.heartbeat(token)).status]).toEqual([BOB, 200]);
  expect(await service.sql('select 1 from erasure_request where email is not null')).toEqual([]);
});

describe('if an asynchronous failover lost a cancellation,', () => {
  /** Requests an erasure as its holder, and cancels it so that only TOMBSTONE_FILE has the cancellation. @returns the request */
  async function loseCancellation(service: Service): Promise<Erasure> {
    const request = await erasuresOf(service).request(ADA);
    await erasuresOf(service).cancel(request.id);
    // This is the state of a promoted standby that lacks the last commit. The service is not restarted.
    const restore = 'update erasure_request set email = $2, cancelled_at = null where id = $1';
    await service.sql(restore, [request.id, ADA]);
    return request;
  }

  test('the request is not carried out and is cancelled again', async () => {
    const service = await start(original);
    const { id: license } = await createLicense(service);
    const { id } = await loseCancellation(service);
    clock.advance(3 * DAY_MS);
    await erasuresOf(service).runDue();
    expect(await emailOf(service, license)).toBe(ADA);
    expect(await findRequest(service, id)).toMatchObject({ state: 'taken_back', email: null });
  });

  test.each([
    ['staff', AUDIT_CONTEXT],
    ['the holder', undefined],
  ] as const)('a later request of %s is a new one, which is carried out', async (_who, audit) => {
    const service = await start(original);
    const { id: license } = await createLicense(service);
    const cancelled = await loseCancellation(service);
    clock.advance(DAY_MS);
    const later = await erasuresOf(service).request(ADA, audit);
    expect([later.id === cancelled.id, later.received_on]).toEqual([false, '2096-02-11']);
    clock.advance(3 * DAY_MS);
    await erasuresOf(service).runDue();
    // The job of a request of staff may carry it out before `runDue`.
    await waitUntilCarriedOut(service, later.id);
    expect(await emailOf(service, license)).toBeNull();
    expect(await findRequest(service, cancelled.id)).toMatchObject({ state: 'taken_back', email: null });
  });
});

describe('if a restored copy shares the tombstone file,', () => {
  test('an erasure in the copy erases no holder who has no waiting request in the original', async () => {
    let service = await start(original);
    const ada = await createLicense(service, 'txn_1');
    const bob = await service.issue({ email: BOB });
    const { id } = await erasuresOf(service).request(ADA);
    const copy = await backup();
    service = await start(original);
    await erasuresOf(service).cancel(id);
    const copyService = await start(copy);
    // The request was cancelled before the copy started, so the copy does not carry it out. The copy carries out two new requests.
    expect(await emailOf(copyService, ada.id)).toBe(ADA);
    for (const email of [ADA, BOB]) await erase(copyService, email);
    clock.advance(HOUR_MS);
    service = await restart(original);
    expect([await emailOf(service, ada.id), await emailOf(service, bob.license_id)]).toEqual([ADA, BOB]);
    expect((await service.heartbeat(ada.token)).status).toBe(200);
    // A repeated report of the purchase is not mistaken for a report about an erased buyer.
    const report = { transaction_id: 'txn_1', status: 'paid', email: ADA } as const;
    expect(await service.app.get(PurchasesService).record(report)).toEqual({
      state: 'paid',
      license_id: ada.id,
      license_ids: [ada.id],
    });
  });

  test('the original ignores an erasure by the copy if its request was cancelled in the original', async () => {
    let service = await start(original);
    const ada = await createLicense(service, 'txn_1');
    const { id } = await erasuresOf(service).request(ADA);
    const copy = await backup();
    const copyService = await start(copy);
    await erasuresOf(copyService).run(id);
    service = await start(original);
    await erasuresOf(service).cancel(id);
    // The erasure is also ignored in a block with the database id of the original.
    const [, block] = readFileSync(file, 'utf8').split('\n\n');
    const [identity] = await service.sql<{ id: string }>('select id from database_identity');
    writeFileSync(file, `\n\n${block!.replace(/^database .*$/m, `database ${identity!.id}`)}`, { flag: 'a' });
    service = await restart(original);
    expect(await emailOf(service, ada.id)).toBe(ADA);
  });

  test('a cancellation in the copy undoes no erasure of the original', async () => {
    let service = await start(original);
    const ada = await createLicense(service, 'txn_1');
    const { id } = await erasuresOf(service).request(ADA);
    const [copy, restored] = [await backup(), await backup()];
    // Each copy starts once before the erasure, because a copy gets its own database id at its first start.
    await start(restored);
    service = await restart(original);
    const copyService = await start(copy);
    clock.advance(HOUR_MS);
    await erasuresOf(service).run(id);
    await erasuresOf(copyService).cancel(id);
    await waitForJobs(service);
    service = await restart(restored);
    // Waits until the receipt of the repeated erasure is sent.
    await waitForSentMails(service);
    expect([await emailOf(service, ada.id), await leaks(service)]).toEqual([null, []]);
    expect((await service.heartbeat(ada.token)).json.code).toBe('binding_released');
  });
});

test('an erasure and a cancellation after a failover count in a backup from before the failover', async () => {
  let service = await start(original);
  const ada = await createLicense(service, 'txn_1');
  const bob = await service.issue({ email: BOB });
  const { id } = await erasuresOf(service).request(BOB);
  // A promoted standby gets an id of its own, as each copy does, and the backup does not contain it.
  const [restored, promoted] = [await backup(), await backup()];
  service = await start(promoted);
  await erasuresOf(service).cancel(id);
  await erase(service, ADA);
  await waitForJobs(service);
  clock.advance(HOUR_MS);
  service = await restart(restored);
  expect([await emailOf(service, ada.id), await emailOf(service, bob.license_id)]).toEqual([null, BOB]);
  expect(await findRequest(service, id)).toMatchObject({ state: 'taken_back' });
  expect(await leaks(service)).toEqual([]);
});

test('erasures are repeated in a backup whose table database_identity is empty', async () => {
  let service = await start(original);
  const ada = await createLicense(service, 'txn_1');
  const restored = await backup();
  service = await start(original);
  clock.advance(HOUR_MS);
  await erase(service, ADA);
  await waitForJobs(service);
  clock.advance(HOUR_MS);
  await stop();
  await query(restored.url, 'delete from database_identity');
  service = await start(restored);
  expect([await emailOf(service, ada.id), await leaks(service)]).toEqual([null, []]);
});

test('a warning names a tombstone file from which nothing was removed for more than seven months', async () => {
  const service = await start(original);
  const writeBlock = (age: number) =>
    writeFileSync(
      file,
      `\n\nat ${new Date(clock.now().getTime() - age).toISOString()}\nerasure_request ${randomUUID()}\n`,
    );
  writeBlock(214 * DAY_MS);
  expect(await warnings(service)).toEqual([]);
  writeBlock(214 * DAY_MS + 1);
  expect(await warnings(service)).toEqual([
    'TOMBSTONE_FILE has blocks that are older than seven months: remove those older than 30 days.',
  ]);
});

test('a warning counts erasures of the last 30 days that the tombstone file lacks', async () => {
  let service = await start(original);
  await createLicense(service);
  await erase(service, ADA);
  expect(await warnings(service)).toEqual([]);
  renameSync(file, `${file}.moved`);
  const missing = [
    'TOMBSTONE_FILE lacks erasure requests of the last 30 days: 1. A restored backup would bring that data back.',
  ];
  expect(await warnings(service)).toEqual(missing);
  writeFileSync(file, `\n\nerasure_request ${randomUUID()}\n`);
  expect(await warnings(service)).toEqual(missing);
  clock.advance(30 * DAY_MS);
  expect(await warnings(service)).not.toContain(missing[0]);
  clock.advance(-30 * DAY_MS);
  renameSync(`${file}.moved`, file);
  service = await restart(original);
  expect(await warnings(service)).toEqual([]);
});
