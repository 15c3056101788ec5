import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ErasureService } from '../../src/erasure/erasure.service.js';
import { LicensesService } from '../../src/licenses/licenses.service.js';
import { PurchasesService } from '../../src/purchases/purchases.service.js';
import { restoreDumpOf } from '../support/databases/dumped.js';
import { clear, erase, repeatErasures, waitForJobs } from './harness.js';
import { FakeClock, Service, type TestDatabase } from '../support/harness.js';
import { formsOfText, LeakSearch } from '../support/leak-search.js';
import { Terminal } from '../support/processes/cli-harness.js';
import { everyRow } from '../support/tables.js';

// An imported order may have licenses of several holders (docs/decisions/0048).

const [ADA, BOB, OLD_BOB] = ['ada@example.com', 'bob@leak.example', 'old-bob@leak.example'];
const [OF_ADA, OF_BOB] = [`KEY-A-0001,${ADA},order-7`, `KEY-B-0001,${BOB},order-7`];
const search = new LeakSearch([BOB, OLD_BOB].flatMap(formsOfText));
const ERASED = 'the holder of this license was erased, so it is not imported again';

/** An hour ahead of the real clock, which the command line uses: so an erasure by a service is later than each import. */
let startedAt = Date.now() + 3_600_000;
/**
 * The time of the next start, later than each earlier one: the blocks of the tombstone file that another copy wrote count in a
 * restored database only if they are older than the first start on it (`ErasureRecords.read`).
 */
const nextStart = () => new Date((startedAt += 1_000));

/** The service on the original database. Each test begins without licenses, requests and tombstones. */
const original = await Service.start({ clock: new FakeClock(nextStart()) });
const { dataDir } = original;

/** The services of one test, on restored databases. They share the tombstone file. */
let copies: Service[] = [];
beforeEach(() => original.clock.set(nextStart()));
afterEach(async () => {
  for (const copy of copies) await copy.close();
  copies = [];
  await clear(original);
});

/** Starts a service on a restored database. At its start it repeats the erasures of the tombstone file. */
async function start({ url }: { url: string }): Promise<Service> {
  const copy = await Service.start({ databaseUrl: url, dataDir, clock: new FakeClock(nextStart()) });
  copies.push(copy);
  return copy;
}

/** Does in a running service what a later start does with the tombstone file. */
async function startAgain(instance: Service): Promise<Service> {
  instance.clock.set(nextStart());
  await repeatErasures(instance);
  return instance;
}

/** Makes a backup and restores it. */
async function backup(instance = original): Promise<TestDatabase> {
  await waitForJobs(instance);
  return restoreDumpOf(instance.databaseUrl);
}

/** Makes a backup, imports the order, erases Bob, and starts on the backup. */
async function restoreAfterErasure(): Promise<Service> {
  const restored = await backup();
  await importRows(original, OF_BOB, OF_ADA);
  await erase(original, BOB);
  return start(restored);
}

/** Imports rows, each with a key, an address and a transaction. @returns the report */
async function importRows(instance: Pick<Service, 'databaseUrl' | 'dataDir'>, ...rows: string[]) {
  const terminal = Terminal.beside(instance);
  writeFileSync(terminal.file('order.csv'), ['key,email,order', ...rows].join('\n'));
  const maps = ['key=previous_key', 'email=email', 'order=transaction_id'].flatMap((map) => ['--map', map]);
  const run = await terminal.run(['license', 'import', 'order.csv', ...maps, '--json']);
  return run.json as { imported: number; already_imported: number; refused_rows: unknown[] };
}

async function idOf(instance: Service, email: string): Promise<string> {
  const [license] = await instance.sql<{ id: string }>('select id from license where email = $1', [email]);
  return license!.id;
}

const buyers = (instance: Service) => instance.sql('select email from purchase');
const leaks = async (instance: Service) => [...search.in((await everyRow(instance.database)).join('\n'))];

/** Activates Ada's license on a machine with a label. @returns her license and the token of the machine */
async function activateForAda(instance: Service) {
  const id = await idOf(instance, ADA);
  const license_key = (await instance.app.get(LicensesService).currentKey(id))!;
  const { json } = await instance.activate({ license_key, email: ADA }, 'studio', {
    hostname_hint: 'Studio',
  });
  return { id, token: json.token as string };
}

const readLicense = async (instance: Service, id: string) =>
  (
    await instance.sql(
      `select email, address_lost_at, hostname_hint from license l join activation on license_id = l.id where l.id = $1`,
      [id],
    )
  )[0];

/** Begins a session of Ada, and activates her license. */
async function signInAndActivateForAda(instance: Service) {
  const [hash, now] = [Buffer.alloc(32, 7), instance.clock.now()];
  await instance.sql(
    'insert into session (id, token_hash, email, created_at, expires_at) values ($1, $2, $3, $4, $5)',
    [randomUUID(), hash, ADA, now, new Date(now.getTime() + 3_600_000)],
  );
  return activateForAda(instance);
}

/** Expects that Ada has her purchase, her session, her license and its machine. */
async function expectUnchanged(
  instance: Service,
  { id, token }: { id: string; token: string },
): Promise<void> {
  expect([await buyers(instance), await instance.sql('select email from session')]).toEqual([
    [{ email: ADA }],
    [{ email: ADA }],
  ]);
  expect(await readLicense(instance, id)).toEqual({
    email: ADA,
    address_lost_at: null,
    hostname_hint: 'Studio',
  });
  expect((await instance.heartbeat(token)).status).toBe(200);
}

describe('the erasure of one of two holders of an order', () => {
  // The buyer of an imported purchase is the address of its first row.
  test.each([
    ['the other one bought it', [OF_ADA, OF_BOB], ADA],
    ['the erased one bought it', [OF_BOB, OF_ADA], null],
  ])('changes nothing of the other one, also after a restore, if %s', async (_what, rows, remaining) => {
    await importRows(original, ...rows);
    const { id, token } = await activateForAda(original);
    const restored = await backup();
    await erase(original, BOB);
    await waitForJobs(original);
    for (const open of [() => startAgain(original), () => start(restored)]) {
      const running = await open();
      expect([await buyers(running), await leaks(running)]).toEqual([[{ email: remaining }], []]);
      expect(await readLicense(running, id)).toEqual({
        email: ADA,
        address_lost_at: null,
        hostname_hint: 'Studio',
      });
      expect((await running.heartbeat(token)).status).toBe(200);
      const later = [`KEY-A-0002,${ADA},order-7`, `KEY-B-0002,${BOB},order-7`];
      expect(await importRows(running, ...rows, ...later)).toMatchObject({
        imported: 1,
        already_imported: 2,
        refused_rows: [{ place: 'line 5', reason: ERASED }],
      });
      expect(await leaks(running)).toEqual([]);
    }
  });

  test('lets the other one be imported again if the backup is older than the import', async () => {
    const restored = await backup();
    await importRows(original, OF_BOB, OF_ADA);
    const id = await idOf(original, ADA);
    await erase(original, BOB);
    const running = await start(restored);
    const later = `KEY-B-0002,${BOB},order-7`;
    expect(await importRows(running, OF_BOB, OF_ADA, later)).toMatchObject({
      imported: 1,
      refused_rows: [
        { place: 'line 2', reason: ERASED },
        { place: 'line 4', reason: ERASED },
      ],
    });
    const report = { transaction_id: 'order-7', status: 'paid', email: BOB } as const;
    expect((await running.app.get(PurchasesService).record(report)).license_ids).toEqual([id]);
    expect([await idOf(running, ADA), await leaks(running)]).toEqual([id, []]);
  });

  test('changes nothing of the other one who was imported again after a restore, at any later start', async () => {
    const running = await restoreAfterErasure();
    await importRows(running, OF_BOB, OF_ADA);
    const license = await signInAndActivateForAda(running);
    const replays = {
      'of the command line': () => Terminal.beside(running).run(['erasure', 'list']),
      'of the next start': () => startAgain(running),
    };
    for (const replay of Object.values(replays)) {
      await replay();
      await expectUnchanged(running, license);
    }
    // The purchase keeps its buyer also if her license gets another address.
    await running.setLicense(license.id, { email: 'ada@example.org' });
    await startAgain(running);
    expect(await buyers(running)).toEqual([{ email: ADA }]);
    // An operator may copy the row from another backup.
    await running.sql('update purchase set email = $1', [BOB]);
    await startAgain(running);
    expect([await buyers(running), await leaks(running)]).toEqual([[{ email: null }], []]);
  });

  test('is repeated at a start on an older backup, and so is a later erasure of the other one, who had been imported again', async () => {
    const [restored, beforeImport] = [await backup(), await backup()];
    await importRows(original, OF_BOB, OF_ADA);
    await erase(original, BOB);
    let running = await start(restored);
    await importRows(running, OF_ADA);
    const afterImport = await backup(running);
    await erase(running, ADA);
    running = await start(afterImport);
    expect(await buyers(running)).toEqual([{ email: null }]);
    running = await start(beforeImport);
    const later = [`KEY-A-0002,${ADA},order-7`, `KEY-B-0002,${BOB},order-7`];
    expect(await importRows(running, ...later)).toMatchObject({
      refused_rows: ['line 2', 'line 3'].map((place) => ({ place, reason: ERASED })),
    });
  });

  test('changes nothing of the other one who was imported before the first start after a restore', async () => {
    // The request waits in the backup, so the replay also completes it.
    await original.app.get(ErasureService).request(BOB);
    const restored = await backup();
    await importRows(original, OF_BOB, OF_ADA);
    // The erasure gets the real time, so that the import below is later than it.
    original.clock.set(new Date());
    await erase(original, BOB);
    await waitForJobs(original);
    await importRows({ databaseUrl: restored.url, dataDir }, OF_BOB, OF_ADA);
    const running = await start(restored);
    await expectUnchanged(running, await signInAndActivateForAda(running));
    await waitForJobs(running, 'erasure%');
    expect(await running.sql('select erased from erasure_request')).toEqual([
      { erased: expect.objectContaining({ licenses: 0, purchases: 0 }) },
    ]);
  });

  test('removes an earlier address of the erased one from the purchase, also after a restore', async () => {
    await importRows(original, `KEY-B-0001,${OLD_BOB},order-7`, OF_ADA);
    const restored = await backup();
    await original.setLicense(await idOf(original, OLD_BOB), { email: BOB });
    await erase(original, BOB);
    await waitForJobs(original);
    for (const open of [() => startAgain(original), () => start(restored)]) {
      const running = await open();
      expect([await buyers(running), await leaks(running)]).toEqual([[{ email: null }], []]);
      expect(await idOf(running, ADA)).toEqual(expect.any(String));
    }
  });

  test('lets a report of the payment processor issue no license to an erased buyer after a restore', async () => {
    const running = await restoreAfterErasure();
    const report = { transaction_id: 'order-7', status: 'paid', email: BOB } as const;
    expect((await running.app.get(PurchasesService).record(report)).license_ids).toEqual([]);
    expect(await leaks(running)).toEqual([]);
  });
});
