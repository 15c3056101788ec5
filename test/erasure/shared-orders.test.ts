import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { LicensesService } from '../../src/licenses/licenses.service.js';
import { PurchasesService } from '../../src/purchases/purchases.service.js';
import { copyDatabase, erase, waitForJobs } from './harness.js';
import { createDatabase, FakeClock, Service, type TestDatabase } from '../support/harness.js';
import { temporaryFolder } from '../support/folders.js';
import { formsOfText, LeakSearch } from '../support/leak-search.js';
import { Terminal } from '../support/processes/cli-harness.js';
import { everyRow } from '../support/tables.js';

// An imported order may have licenses of several holders (docs/decisions/0048).

/** After the imports: the command line uses the real clock. */
const AFTER_IMPORTS = new Date(Date.now() + 3_600_000);
const [ADA, BOB, OLD_BOB] = ['ada@example.com', 'bob@leak.example', 'old-bob@leak.example'];
const [OF_ADA, OF_BOB] = [`KEY-A-0001,${ADA},order-7`, `KEY-B-0001,${BOB},order-7`];
const search = new LeakSearch([BOB, OLD_BOB].flatMap(formsOfText));
const ERASED = 'the holder of this license was erased, so it is not imported again';

const root = temporaryFolder();
let service: Service | undefined;
let dataDir: string;
let original: TestDatabase;

beforeEach(async () => {
  dataDir = mkdtempSync(join(root, 'data-'));
  original = await createDatabase();
});
afterEach(stop);

/** Closes the service, and starts one on this database. At its start it repeats the erasures of the tombstone file. */
async function start({ url }: { url: string }): Promise<Service> {
  await stop();
  return (service = await Service.start({ databaseUrl: url, dataDir, clock: new FakeClock(AFTER_IMPORTS) }));
}

async function stop(): Promise<void> {
  await service?.close();
  service = undefined;
}

/** Copies the original, as a backup of this time that has been restored. */
async function backup(): Promise<TestDatabase> {
  await stop();
  return copyDatabase(original.url);
}

/** Imports rows, each with a key, an address and a transaction. @returns the report */
async function importRows(beside: Service, ...rows: string[]) {
  const terminal = Terminal.beside(beside);
  writeFileSync(terminal.file('order.csv'), ['key,email,order', ...rows].join('\n'));
  const maps = ['key=previous_key', 'email=email', 'order=transaction_id'].flatMap((map) => ['--map', map]);
  const run = await terminal.run(['license', 'import', 'order.csv', ...maps, '--json']);
  return run.json as { imported: number; already_imported: number; refused_rows: unknown[] };
}

async function idOf(beside: Service, email: string): Promise<string> {
  const [license] = await beside.sql<{ id: string }>('select id from license where email = $1', [email]);
  return license!.id;
}

const buyers = (beside: Service) => beside.sql('select email from purchase');
const leaks = async (beside: Service) => [...search.in((await everyRow(beside.database)).join('\n'))];

/** Activates Ada's license on a machine with a label. @returns her license and the token of the machine */
async function activateForAda(beside: Service) {
  const id = await idOf(beside, ADA);
  const license_key = (await beside.app.get(LicensesService).currentKey(id))!;
  const { json } = await beside.activate({ license_key, email: ADA }, 'studio', { hostname_hint: 'Studio' });
  return { id, token: json.token as string };
}

const readLicense = async (beside: Service, id: string) =>
  (
    await beside.sql(
      `select email, address_lost_at, hostname_hint from license l join activation on license_id = l.id where l.id = $1`,
      [id],
    )
  )[0];

describe('the erasure of one of two holders of an order', () => {
  test.each([
    ['the other one bought it', [OF_ADA, OF_BOB], ADA],
    ['the erased one bought it', [OF_BOB, OF_ADA], null],
  ])('changes nothing of the other one, also after a restore, if %s', async (_what, rows, remaining) => {
    let running = await start(original);
    await importRows(running, ...rows);
    const { id, token } = await activateForAda(running);
    const restored = await backup();
    running = await start(original);
    await erase(running, BOB);
    await waitForJobs(running);
    for (const database of [original, restored]) {
      running = await start(database);
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
    await start(original);
    const restored = await backup();
    let running = await start(original);
    await importRows(running, OF_BOB, OF_ADA);
    const id = await idOf(running, ADA);
    await erase(running, BOB);
    running = await start(restored);
    const later = `KEY-B-0002,${BOB},order-7`;
    expect(await importRows(running, OF_BOB, OF_ADA, later)).toMatchObject({
      imported: 1,
      refused_rows: [
        { place: 'line 2', reason: ERASED },
        { place: 'line 4', reason: ERASED },
      ],
    });
    expect([await idOf(running, ADA), await leaks(running)]).toEqual([id, []]);
  });

  test('removes an earlier address of the erased one from the purchase', async () => {
    const running = await start(original);
    await importRows(running, `KEY-B-0001,${OLD_BOB},order-7`, OF_ADA);
    await running.setLicense(await idOf(running, OLD_BOB), { email: BOB });
    await erase(running, BOB);
    await waitForJobs(running);
    expect([await buyers(running), await leaks(running)]).toEqual([[{ email: null }], []]);
  });

  test('lets a report of the payment processor issue no license to an erased buyer after a restore', async () => {
    await start(original);
    const restored = await backup();
    let running = await start(original);
    await importRows(running, OF_BOB, OF_ADA);
    await erase(running, BOB);
    running = await start(restored);
    const report = { transaction_id: 'order-7', status: 'paid', email: BOB } as const;
    expect((await running.app.get(PurchasesService).record(report)).license_ids).toEqual([]);
    expect(await leaks(running)).toEqual([]);
  });
});
