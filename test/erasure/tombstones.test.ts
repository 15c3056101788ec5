import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { LicenseKeys } from '../../src/keys/license-keys.js';
import { ErasureService } from '../../src/erasure/erasure.service.js';
import { erase, findRequest, waitUntilCarriedOut, makeDue, mailsTo, sell } from './harness.js';
import { until } from '../support/until.js';
import { AUDIT_CONTEXT, Service } from '../support/harness.js';
import { formsOfText, LeakSearch } from '../support/leak-search.js';

const service = await Service.start({ environment: { LOG_LEVEL: 'trace' } });
const file = join(service.dataDir, 'erased.txt');

const tombstones = () => readFileSync(file, 'utf8');
const emailOf = async (id: string) =>
  (await service.sql('select email from license where id = $1', [id]))[0]!['email'];
const jobOf = async (id: string) =>
  (
    await service.sql("select last_error, attempts from graphile_worker.jobs where key = 'erasure ' || $1", [
      id,
    ])
  )[0];

const waitUntilJobFailed = (id: string) =>
  until(async () => typeof (await jobOf(id))?.['last_error'] === 'string');

/** Creates a holder with a bought license and an issued one. */
async function createHolder(email: string) {
  const bought = await sell(service, email, randomUUID());
  const { license_id } = await service.issue({ email });
  const [purchase] = await service.sql<{ id: string }>(
    'select purchase_id as id from license where id = $1',
    [bought],
  );
  return { bought, issued: license_id, purchase: purchase!.id };
}

test('the file has ids, the time and a keyed hash of the address, and only its owner can read it', async () => {
  const { bought, issued, purchase } = await createHolder('ada@leak.example');
  const { id } = await erase(service, 'ada@leak.example');
  const [database] = await service.sql<{ id: string }>('select id from database_identity');
  expect(tombstones().split('\n').toSorted()).toEqual(
    [
      // The two empty lines before the block, and the end of its last line.
      '',
      '',
      '',
      'at 2026-11-20T13:00:00.000Z',
      `database ${database!.id}`,
      `address ${service.app.get(LicenseKeys).hashErasedAddress('ada@leak.example')}`,
      `license ${bought}`,
      `license ${issued}`,
      `purchase ${purchase}`,
      `erasure_request ${id}`,
    ].toSorted(),
  );
  expect([...new LeakSearch(formsOfText('ada@leak.example')).in(tombstones())]).toEqual([]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

/** Makes each erasure fail at its commit, after the file is written, until `test_undo` is dropped. */
const failCommits = () =>
  service.sql(
    `create function test_undo() returns trigger language plpgsql as $$ begin raise 'undone'; end $$;
     create constraint trigger test_undo after update on erasure_request deferrable initially deferred
       for each row execute function test_undo()`,
  );

test('the file is written before the commit: an erasure whose commit fails is in it', async () => {
  const { bought } = await createHolder('undone@leak.example');
  await failCommits();
  const { id } = await service.app.get(ErasureService).request('undone@leak.example', AUDIT_CONTEXT);
  await waitUntilJobFailed(id);
  expect(tombstones()).toContain(`license ${bought}\n`);
  expect(await emailOf(bought)).toBe('undone@leak.example');
  await service.sql('drop function test_undo cascade');
  await makeDue(service, 'erasure');
  await waitUntilCarriedOut(service, id);
  expect(await emailOf(bought)).toBeNull();
});

test('a request that was cancelled after the commit of its erasure failed erases nothing, also at the next start', async () => {
  const { bought } = await createHolder('stays@leak.example');
  await failCommits();
  const { id } = await service.app.get(ErasureService).request('stays@leak.example', AUDIT_CONTEXT);
  await waitUntilJobFailed(id);
  await service.sql('drop function test_undo cascade');
  await service.app.get(ErasureService).cancel(id);
  // Each start of the service calls `replay`.
  await service.app.get(ErasureService).replay();
  expect(await emailOf(bought)).toBe('stays@leak.example');
});

test('a request whose erasure failed at its commit is carried out by the next start, with its receipt', async () => {
  const { bought } = await createHolder('killed@leak.example');
  await failCommits();
  const { id } = await service.app.get(ErasureService).request('killed@leak.example', AUDIT_CONTEXT);
  await waitUntilJobFailed(id);
  await service.sql('drop function test_undo cascade');
  await service.app.get(ErasureService).replay();
  expect(await emailOf(bought)).toBeNull();
  expect(await findRequest(service, id)).toMatchObject({
    state: 'honoured',
    erased: { licenses: 2, purchases: 1 },
  });
  expect(await mailsTo(service, 'killed@leak.example', /was deleted/)).toHaveLength(1);
});

test.each([
  // As if the folder of the file were not mounted: the link leads to no file, so TOMBSTONE_FILE is read as empty.
  ['written', 'TOMBSTONE_FILE cannot be written (ENOENT)', () => symlinkSync('/missing/erased.txt', file)],
  ['read', 'TOMBSTONE_FILE cannot be read: PATH (EISDIR).', () => mkdirSync(file)],
])(
  'if the file cannot be %s, nothing is erased, and the job reports it and is retried',
  async (verb, expected, replaceFile) => {
    rmSync(file, { force: true });
    replaceFile();
    const email = `not-${verb}@leak.example`;
    const reason = expected.replace('PATH', file);
    const { bought } = await createHolder(email);
    const { id } = await service.app.get(ErasureService).request(email, AUDIT_CONTEXT);
    await waitUntilJobFailed(id);
    expect(await jobOf(id)).toEqual({ last_error: reason, attempts: expect.any(Number) });
    expect(await emailOf(bought)).toBe(email);
    expect(await findRequest(service, id)).toMatchObject({ state: 'waiting', email });
    await expect(service.app.get(ErasureService).run(id)).rejects.toThrow(reason);
    const logged = service.logged.join('');
    expect(logged).toContain(`"reason":"${reason}"`);
    expect([...new LeakSearch(formsOfText(email)).in(logged)]).toEqual([]);
    rmSync(file, { recursive: true });
    await makeDue(service, 'erasure');
    await waitUntilCarriedOut(service, id);
    expect(await emailOf(bought)).toBeNull();
    expect(tombstones()).toContain(`license ${bought}\n`);
    expect(await mailsTo(service, email, /was deleted/)).toHaveLength(1);
  },
);

test('a TOMBSTONE_FILE that cannot be written prevents no start, and is a warning and a line of the log', async () => {
  // No user can create a file in this folder, not even root.
  const TOMBSTONE_FILE = '/proc/sys/mooring/erased.txt';
  const other = await Service.start({ environment: { TOMBSTONE_FILE } });
  expect((await other.call('GET', '/health/ready')).json.warnings).toEqual([
    'TOMBSTONE_FILE cannot be written: no erasure is carried out meanwhile.',
  ]);
  const lines = other.logged.filter((line) => line.includes('TOMBSTONE_FILE'));
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 40, msg: 'TOMBSTONE_FILE not writable', code: expect.stringMatching(/^E/) },
  ]);
  await other.close();
});
