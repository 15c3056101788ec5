import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, rmdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { LicenseKeys } from '../../src/keys/license-keys.js';
import { ErasureService } from '../../src/erasure/erasure.service.js';
import { ACT, erase, found, honoured, makeDue, mailsTo, sell, until } from './harness.js';
import { Service } from '../support/harness.js';
import { formsOfText, LeakSearch } from '../support/leak-search.js';

let service: Service;
let file: string;
beforeAll(async () => {
  service = await Service.start({ environment: { LOG_LEVEL: 'trace' } });
  file = join(service.dataDir, 'erased.txt');
});
afterAll(() => service.close());

const written = () => readFileSync(file, 'utf8');
const emailOf = async (id: string) =>
  (await service.sql('select email from license where id = $1', [id]))[0]!['email'];
const jobOf = async (id: string) =>
  (
    await service.sql("select last_error, attempts from graphile_worker.jobs where key = 'erasure ' || $1", [
      id,
    ])
  )[0];

const failed = (id: string) => until(async () => typeof (await jobOf(id))?.['last_error'] === 'string');

/** A holder with a license of either kind. */
async function holder(email: string) {
  const bought = await sell(service, email, randomUUID());
  const { license_id } = await service.issue({ email });
  const [purchase] = await service.sql<{ id: string }>(
    'select purchase_id as id from license where id = $1',
    [bought],
  );
  return { bought, issued: license_id, purchase: purchase!.id };
}

test('the file holds ids, the moment and a keyed hash of the address, and is its owner’s', async () => {
  const { bought, issued, purchase } = await holder('ada@leak.example');
  const { id } = await erase(service, 'ada@leak.example');
  const [database] = await service.sql<{ id: string }>('select id from database_identity');
  expect(written().split('\n').toSorted()).toEqual(
    [
      '',
      '',
      '',
      'at 2026-11-20T13:00:00.000Z',
      `database ${database!.id}`,
      `address ${service.app.get(LicenseKeys).erasedAddress('ada@leak.example')}`,
      `license ${bought}`,
      `license ${issued}`,
      `purchase ${purchase}`,
      `erasure_request ${id}`,
    ].toSorted(),
  );
  expect([...new LeakSearch(formsOfText('ada@leak.example')).in(written())]).toEqual([]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

/** Lets every erasure fail at its very end, after it was written down. */
const undo = () =>
  service.sql(
    `create function test_undo() returns trigger language plpgsql as $$ begin raise 'undone'; end $$;
     create constraint trigger test_undo after update on erasure_request deferrable initially deferred
       for each row execute function test_undo()`,
  );

test('it is written before the erasure is: one that is undone at its very end is in the file all the same', async () => {
  const { bought } = await holder('undone@leak.example');
  await undo();
  const { id } = await service.app.get(ErasureService).request('undone@leak.example', ACT);
  await failed(id);
  expect(written()).toContain(`license ${bought}\n`);
  expect(await emailOf(bought)).toBe('undone@leak.example');
  await service.sql('drop function test_undo cascade');
  await makeDue(service, 'erasure');
  await honoured(service, id);
  expect(await emailOf(bought)).toBeNull();
});

test('one that was undone and then taken back erases nothing, at a start neither', async () => {
  const { bought } = await holder('stays@leak.example');
  await undo();
  const { id } = await service.app.get(ErasureService).request('stays@leak.example', ACT);
  await failed(id);
  await service.sql('drop function test_undo cascade');
  await service.app.get(ErasureService).cancel(id);
  expect(await service.app.get(ErasureService).replay()).toBe(0);
  expect(await emailOf(bought)).toBe('stays@leak.example');
});

test('one that was undone, and whose service was killed then, is carried out by the next start, with its receipt', async () => {
  const { bought } = await holder('killed@leak.example');
  await undo();
  const { id } = await service.app.get(ErasureService).request('killed@leak.example', ACT);
  await failed(id);
  await service.sql('drop function test_undo cascade');
  expect(await service.app.get(ErasureService).replay()).toBe(4);
  expect(await emailOf(bought)).toBeNull();
  expect(await found(service, id)).toMatchObject({
    state: 'honoured',
    erased: { licenses: 2, purchases: 1 },
  });
  const subjects = (await mailsTo(service, 'killed@leak.example', /was deleted/)).map(
    ({ subject }) => subject,
  );
  expect(subjects).toHaveLength(1);
});

test('where it cannot be written nothing is erased, the job says so, and is tried again until it can', async () => {
  rmSync(file);
  mkdirSync(file);
  const { bought } = await holder('later@leak.example');
  const { id } = await service.app.get(ErasureService).request('later@leak.example', ACT);
  await failed(id);
  expect(await jobOf(id)).toEqual({
    last_error: 'TOMBSTONE_FILE cannot be written (EISDIR)',
    attempts: 1,
  });
  expect(await emailOf(bought)).toBe('later@leak.example');
  expect(await found(service, id)).toMatchObject({ state: 'waiting', email: 'later@leak.example' });
  await expect(service.app.get(ErasureService).run(id)).rejects.toThrow('cannot be written');
  const logged = service.logged.join('');
  expect(logged).toContain('"reason":"TOMBSTONE_FILE cannot be written (EISDIR)"');
  expect([...new LeakSearch(formsOfText('later@leak.example')).in(logged)]).toEqual([]);
  rmdirSync(file);
  await makeDue(service, 'erasure');
  await honoured(service, id);
  expect(await emailOf(bought)).toBeNull();
  expect(written()).toContain(`license ${bought}\n`);
  expect(await mailsTo(service, 'later@leak.example', /was deleted/)).toHaveLength(1);
});
