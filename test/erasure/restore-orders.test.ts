import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
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
import { restoreDumpOf } from '../support/databases/dumped.js';
import { query } from '../support/databases/replica-harness.js';
import {
  clear,
  erase,
  findRequest,
  repeatErasures,
  sell,
  waitForSentMails,
  waitUntilCarriedOut,
  waitForJobs,
} from './harness.js';
import {
  AUDIT_CONTEXT,
  createDatabase,
  FakeClock,
  Service,
  type TestDatabase,
  HOUR_MS,
} from '../support/harness.js';
import { formsOfText, LeakSearch } from '../support/leak-search.js';
import { temporaryFolder } from '../support/folders.js';
import { everyRow } from '../support/tables.js';

/** Far in the future, so that no job of a holder's request is due: the job queue uses the database's clock. */
const NOON = '2096-02-10T12:00:00Z';
const [ADA, BOB] = ['ada@leak.example', 'bob@example.com'];
/** Further holders who are erased, in tests that have several cases in one database. */
const [EVE, IVY, UMA] = ['eve@leak.example', 'ivy@leak.example', 'uma@leak.example'];
/** Finds the personal data of the erased holders. No other data contains the word Kanari. */
const search = new LeakSearch([ADA, EVE, IVY, UMA, 'Kanari Studio', 'Kanari sold it'].flatMap(formsOfText));

const dataDir = temporaryFolder();
const file = join(dataDir, 'erased.txt');
const clock = new FakeClock(NOON);
const environment = { DEFAULT_MACHINES_PER_LICENSE: '3' };
/** The service on the original database. Each test begins without licenses, requests and tombstones. */
const service = await Service.start({ dataDir, clock, environment });
// In 2096 the rows of earlier retention runs would be overdue for deletion, which causes a warning.
await service.sql("delete from retention_run where started_at < '2096-01-01'");

/** The services of one test, on other databases. They share the tombstone file. */
let copies: Service[] = [];
afterEach(async () => {
  for (const copy of copies) await copy.close();
  copies = [];
  clock.set(NOON);
  await clear(service);
});

/** Starts a service on another database. At its start it repeats the erasures of the tombstone file. */
async function start({ url }: { url: string }): Promise<Service> {
  const copy = await Service.start({ databaseUrl: url, dataDir, clock, environment });
  copies.push(copy);
  return copy;
}

/** Makes a backup of the original and restores it. */
async function backup(): Promise<TestDatabase> {
  await waitForJobs(service);
  return restoreDumpOf(service.databaseUrl);
}

/** Makes a backup, gives the licenses to Bob, and erases their holders. @returns the backup */
async function backupThenHandOver(licenses: readonly { id: string; email: string }[]): Promise<TestDatabase> {
  const restored = await backup();
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
async function createLicense(transaction?: string, email = ADA, instance = service) {
  const license = transaction
    ? await sellTo(email, transaction)
    : await instance.issue({ email, machines_allowed: 3 });
  const activate = async (machine: string) =>
    (await instance.activate(license, machine, { hostname_hint: `Kanari Studio ${machine}` })).json;
  const [released, active] = [await activate('released'), await activate('active')];
  const ids = [released, active].map(({ activation }) => activation.id as string) as [string, string];
  for (const id of ids) await instance.app.get(ReleaseRequests).create(id, 'Kanari sold it');
  await instance.app.get(ReleaseService).release(ids[0], AUDIT_CONTEXT);
  return { id: license.license_id, license_key: license.license_key, email, token: active.token as string };
}

async function sellTo(email: string, transaction: string) {
  const license_id = await sell(service, email, transaction);
  const license_key = (await service.app.get(LicensesService).currentKey(license_id))!;
  return { license_id, license_key, email };
}

/** Adds other rows with an address: a code, a session and a waiting mail. */
async function addPendingData(email = ADA, instance = service): Promise<void> {
  const later = new Date(clock.now().getTime() + HOUR_MS);
  const [id, hash, now] = [randomUUID(), randomBytes(32), clock.now()];
  await instance.sql('insert into one_time_code values ($1, $2, 0, $3, $4)', [id, email, now, later]);
  await instance.sql(
    'insert into session (id, token_hash, email, created_at, expires_at) values ($1, $2, $3, $4, $5)',
    [id, hash, email, now, later],
  );
  await instance.app.get(DataSource).transaction(async (manager) => {
    await enqueueMail(manager, 'email_changed', id, now, { to: email });
    await manager.query(
      `select graphile_worker.reschedule_jobs(array(select id from graphile_worker.jobs where key like '%' || $1 || '%'), run_at := '2096-01-01')`,
      [id],
    );
  });
}

describe('a license that got another holder after the backup and whose former holder was then erased', () => {
  test('loses its address and keeps its machine active, whether bought or issued, and a warning asks staff to set the address again', async () => {
    const licenses = [await createLicense('txn_1'), await createLicense(undefined, EVE)];
    for (const { email } of licenses) await addPendingData(email);
    const copy = await start(await backupThenHandOver(licenses));
    expect(await leaks(copy)).toEqual([]);
    const staff = { authorization: `Bearer ${await copy.staffToken()}` };
    for (const { id, license_key, email: former, token } of licenses) {
      expect((await copy.heartbeat(token)).status).toBe(200);
      expect(await copy.sql('select email, ended_at from license where id = $1', [id])).toEqual([
        { email: null, ended_at: null },
      ]);
      // Its machine can activate again with its key and any address; another machine cannot.
      for (const email of [former, BOB]) {
        const credentials = { license_key, email };
        expect((await copy.activate(credentials, 'active')).status).toBe(200);
        expect((await copy.activate(credentials, 'another')).json.code).toBe('license_not_found');
      }
      const seen = await copy.call('GET', `/support/api/licenses/${id}`, undefined, staff);
      expect(seen.json.license).toMatchObject({ email: null, is_address_lost: true, status: 'active' });
    }
    expect(await warnings(copy)).toEqual([
      'Licenses without an e-mail address since a restore: 2. mooring status names them; set it with mooring license set --email.',
    ]);
    // Retention does not delete the licenses as erased licenses, and a later start does not erase them.
    clock.advance(400 * DAY_MS);
    await copy.app.get(RetentionService).run();
    await repeatErasures(copy);
    for (const { id } of licenses) await copy.setLicense(id, { email: BOB });
    expect(await warnings(copy)).toEqual([expect.stringMatching(/^TOMBSTONE_FILE has blocks/)]);
    await repeatErasures(copy);
    for (const { id, token } of licenses)
      expect([await emailOf(copy, id), (await copy.heartbeat(token)).status]).toEqual([BOB, 200]);
  });

  test('loses its address and stays valid also if it was bought and the tombstone file has the format of an older version', async () => {
    const { id, token } = await createLicense('txn_1');
    await addPendingData();
    const restored = await backup();
    await service.setLicense(id, { email: BOB });
    await erase(service, ADA);
    await waitForJobs(service);
    const old = readFileSync(file, 'utf8').replaceAll(/^(at|database|address) .*\n/gm, '');
    writeFileSync(file, old);
    const copy = await start(restored);
    expect([await emailOf(copy, id), await leaks(copy)]).toEqual([null, []]);
    expect((await copy.heartbeat(token)).status).toBe(200);
  });
});

describe('an erased person who gets licenses again', () => {
  test('keeps new purchases and licenses from staff at each later start, also with a restored database', async () => {
    const first = await createLicense('txn_1');
    const restored = await backup();
    clock.advance(HOUR_MS);
    await erase(service, ADA);
    await waitForJobs(service);
    for (const open of [() => service, () => start(restored)]) {
      clock.advance(HOUR_MS);
      const instance = await open();
      await repeatErasures(instance);
      clock.advance(HOUR_MS);
      const again = await sell(instance, ADA, 'again');
      const issued = await instance.issue({ email: BOB });
      await instance.setLicense(issued.license_id, { email: ADA });
      await erasuresOf(instance).request(ADA);
      for (let starts = 0; starts < 2; starts += 1) {
        await repeatErasures(instance);
        const licensesOfAda = await instance.sql('select id from license where email = $1 order by id', [
          ADA,
        ]);
        expect(licensesOfAda.map(({ id }) => id)).toEqual([again, issued.license_id].toSorted());
        expect(await emailOf(instance, first.id)).toBeNull();
        const waiting = await instance.sql('select 1 from erasure_request where email = $1', [ADA]);
        expect(waiting).toHaveLength(1);
      }
    }
  });

  test('keeps a new purchase also if the row of the erasure request was deleted', async () => {
    await createLicense();
    clock.advance(HOUR_MS);
    await erase(service, ADA);
    clock.advance(HOUR_MS);
    const again = await sell(service, ADA, 'again');
    await waitForJobs(service);
    await service.sql('delete from erasure_request');
    await repeatErasures(service);
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
    const licenses = await whileAhead(async () => {
      const other = await service.issue({ email: BOB });
      await service.setLicense(other.license_id, { email: IVY });
      return [await sellTo(ADA, 'txn_1'), await service.issue({ email: EVE }), { ...other, email: IVY }];
    });
    const tokens: string[] = [];
    for (const license of licenses) {
      const { json } = await service.activate(license, 'active', { hostname_hint: 'Kanari Studio' });
      tokens.push(json.token);
    }
    await waitForJobs(service);
    const restored = await backup();
    clock.advance(HOUR_MS);
    for (const { email } of licenses) await erase(service, email);
    await waitForJobs(service);
    const copy = await start(restored);
    await waitForSentMails(copy);
    expect(await leaks(copy)).toEqual([]);
    for (const [index, { license_id }] of licenses.entries()) {
      expect(await emailOf(copy, license_id)).toBeNull();
      expect((await copy.heartbeat(tokens[index]!)).json.code).toBe('binding_released');
    }
  });

  test('the address of a former holder who was erased is removed again, whether the license was bought or issued', async () => {
    const licenses = await whileAhead(async () => {
      const created = [await createLicense('txn_1'), await createLicense(undefined, EVE)];
      for (const { email } of created) await addPendingData(email);
      return created;
    });
    const copy = await start(await backupThenHandOver(licenses));
    await waitForSentMails(copy);
    expect(await leaks(copy)).toEqual([]);
    for (const { token } of licenses) expect((await copy.heartbeat(token)).status).toBe(200);
  });

  test('a purchase, a code, a session, the recipient of a mail and an erasure request in a copy that does not know the erasure yet are erased', async () => {
    const copy = await start(await backup());
    await whileAhead(async () => {
      await sell(copy, ADA, 'txn_1');
      await addPendingData(EVE, copy);
      const recipient = [randomUUID(), IVY, clock.now()];
      await copy.sql('insert into mail_recipient values ($1, $2, $3)', recipient);
      await erasuresOf(copy).request(UMA);
    });
    await waitForJobs(copy);
    for (const email of [ADA, EVE, IVY, UMA]) await erase(service, email);
    await waitForJobs(service);
    await repeatErasures(copy);
    await waitForJobs(copy);
    expect(await leaks(copy)).toEqual([]);
  });
});

test('a clock that is behind at a restart does not erase a license that another holder got after the erasure', async () => {
  // The service begins with the real time, which the database has too. At the end its clock is a day behind, so the time at which
  // Bob got the license is ahead of it. This time still counts: only one that is ahead of both clocks is ignored (`timeOfReturn`).
  clock.set(new Date());
  const real = await start(await createDatabase());
  const { id, token } = await createLicense(undefined, ADA, real);
  await erase(real, ADA);
  // The state of a promoted standby that lacks the erasure.
  await real.sql('update license set email = $2, ended_at = null where id = $1', [id, ADA]);
  await real.sql(
    `update activation set ended_at = null, ended_reason = null, machine_id = '\\x${'07'.repeat(32)}'
     where id = (select id from activation where license_id = $1 order by activated_at desc, id desc limit 1)`,
    [id],
  );
  clock.advance(60_000);
  await real.setLicense(id, { email: BOB });
  clock.advance(-DAY_MS);
  await repeatErasures(real);
  expect([await emailOf(real, id), (await real.heartbeat(token)).status]).toEqual([BOB, 200]);
});

test('if retention has deleted the request of an erasure, the erasure is not recorded as repeated', async () => {
  const later = await start(await createDatabase());
  await createLicense(undefined, ADA, later);
  await erase(later, ADA);
  clock.set('2097-02-10T12:00:00Z');
  await later.app.get(RetentionService).run();
  expect(await later.sql('select 1 from erasure_request')).toEqual([]);
  await repeatErasures(later);
  expect(await later.sql('select 1 from repeated_erasure')).toEqual([]);
});

test('if an erasure was written to the file but not committed, a license that then got another holder stays valid', async () => {
  const { id, token } = await createLicense();
  const request = await erasuresOf(service).request(ADA);
  const [identity] = await service.sql<{ id: string }>('select id from database_identity');
  const lines = [`at ${clock.now().toISOString()}`, `database ${identity!.id}`, `license ${id}`];
  writeFileSync(file, `\n\n${[...lines, `erasure_request ${request.id}`].join('\n')}\n`, { flag: 'a' });
  clock.advance(HOUR_MS);
  await service.setLicense(id, { email: BOB });
  await repeatErasures(service);
  expect([await emailOf(service, id), (await service.heartbeat(token)).status]).toEqual([BOB, 200]);
  expect(await service.sql('select 1 from erasure_request where email is not null')).toEqual([]);
});

describe('if an asynchronous failover lost a cancellation,', () => {
  /** Requests an erasure as its holder, and cancels it so that only TOMBSTONE_FILE has the cancellation. @returns the request */
  async function loseCancellation(): Promise<Erasure> {
    const request = await erasuresOf(service).request(ADA);
    await erasuresOf(service).cancel(request.id);
    // This is the state of a promoted standby that lacks the last commit. The service is not restarted.
    const restore = 'update erasure_request set email = $2, cancelled_at = null where id = $1';
    await service.sql(restore, [request.id, ADA]);
    return request;
  }

  test('the request is not carried out and is cancelled again', async () => {
    const { id: license } = await createLicense();
    const { id } = await loseCancellation();
    clock.advance(3 * DAY_MS);
    await erasuresOf(service).runDue();
    expect(await emailOf(service, license)).toBe(ADA);
    expect(await findRequest(service, id)).toMatchObject({ state: 'taken_back', email: null });
  });

  test.each([
    ['staff', AUDIT_CONTEXT],
    ['the holder', undefined],
  ] as const)('a later request of %s is a new one, which is carried out', async (_who, audit) => {
    const { id: license } = await createLicense();
    const cancelled = await loseCancellation();
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
    const ada = await createLicense('txn_1');
    const bob = await service.issue({ email: BOB });
    const { id } = await erasuresOf(service).request(ADA);
    const restored = await backup();
    await erasuresOf(service).cancel(id);
    const copy = await start(restored);
    // The request was cancelled before the copy started, so the copy does not carry it out. The copy carries out two new requests.
    expect(await emailOf(copy, ada.id)).toBe(ADA);
    for (const email of [ADA, BOB]) await erase(copy, email);
    clock.advance(HOUR_MS);
    await repeatErasures(service);
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
    const ada = await createLicense('txn_1');
    const { id } = await erasuresOf(service).request(ADA);
    const copy = await start(await backup());
    await erasuresOf(copy).run(id);
    await repeatErasures(service);
    await erasuresOf(service).cancel(id);
    // The erasure is also ignored in a block with the database id of the original.
    const [, block] = readFileSync(file, 'utf8').split('\n\n');
    const [identity] = await service.sql<{ id: string }>('select id from database_identity');
    writeFileSync(file, `\n\n${block!.replace(/^database .*$/m, `database ${identity!.id}`)}`, { flag: 'a' });
    await repeatErasures(service);
    expect(await emailOf(service, ada.id)).toBe(ADA);
  });

  test('a cancellation in the copy undoes no erasure of the original', async () => {
    const ada = await createLicense('txn_1');
    const { id } = await erasuresOf(service).request(ADA);
    // Each copy starts before the erasure, because a copy gets its own database id at its first start.
    const [copy, restored] = [await start(await backup()), await start(await backup())];
    clock.advance(HOUR_MS);
    await erasuresOf(service).run(id);
    await erasuresOf(copy).cancel(id);
    await waitForJobs(service);
    await repeatErasures(restored);
    // Waits until the receipt of the repeated erasure is sent.
    await waitForSentMails(restored);
    expect([await emailOf(restored, ada.id), await leaks(restored)]).toEqual([null, []]);
    expect((await restored.heartbeat(ada.token)).json.code).toBe('binding_released');
  });
});

test('an erasure and a cancellation after a failover are repeated in a backup from before the failover', async () => {
  const ada = await createLicense('txn_1');
  const bob = await service.issue({ email: BOB });
  const { id } = await erasuresOf(service).request(BOB);
  // A promoted standby gets an id of its own, as each copy does, and the backup does not contain it.
  const restored = await backup();
  const promoted = await start(await backup());
  await erasuresOf(promoted).cancel(id);
  await erase(promoted, ADA);
  await waitForJobs(promoted);
  clock.advance(HOUR_MS);
  const copy = await start(restored);
  expect([await emailOf(copy, ada.id), await emailOf(copy, bob.license_id)]).toEqual([null, BOB]);
  expect(await findRequest(copy, id)).toMatchObject({ state: 'taken_back' });
  expect(await leaks(copy)).toEqual([]);
});

test('erasures are repeated in a backup whose table database_identity is empty', async () => {
  const ada = await createLicense('txn_1');
  const restored = await backup();
  clock.advance(HOUR_MS);
  await erase(service, ADA);
  await waitForJobs(service);
  clock.advance(HOUR_MS);
  await query(restored.url, 'delete from database_identity');
  const copy = await start(restored);
  expect([await emailOf(copy, ada.id), await leaks(copy)]).toEqual([null, []]);
});

test('a warning names a tombstone file from which nothing was removed for more than seven months', async () => {
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
  await createLicense();
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
  await repeatErasures(service);
  expect(await warnings(service)).toEqual([]);
});
