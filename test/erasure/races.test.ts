import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { LicenseKeys } from '../../src/keys/license-keys.js';
import { ReleaseService } from '../../src/releases/release.service.js';
import { LicensesService } from '../../src/licenses/licenses.service.js';
import { PurchasesService } from '../../src/purchases/purchases.service.js';
import { ErasureService } from '../../src/erasure/erasure.service.js';
import { mailsTo, sell } from './harness.js';
import { AUDIT_CONTEXT, FakeClock, Service } from '../support/harness.js';
import { OpenTransaction } from '../support/open-transaction.js';

const ROUNDS = Array.from({ length: 20 }, (_, round) => round + 1);

/** Far ahead, because the job worker compares the time of a job with the clock of the database. */
const clock = new FakeClock(new Date('2096-02-10T12:00:00Z'));
const service = await Service.start({ clock, environment: { DEFAULT_MACHINES_PER_LICENSE: '9' } });
const erasures = service.app.get(ErasureService);
const licenses = service.app.get(LicensesService);
const purchases = service.app.get(PurchasesService);

interface SoldLicense {
  readonly license_id: string;
  readonly license_key: string;
  readonly email: string;
  readonly transaction_id: string;
  readonly activation_id: string;
}

async function sellAndActivate(transaction_id: string): Promise<SoldLicense> {
  const email = `${transaction_id}@race.example`;
  const license_id = await sell(service, email, transaction_id);
  const license_key = (await licenses.currentKey(license_id))!;
  const { json } = await service.activate({ license_key, email }, 'first', { hostname_hint: 'First' });
  return { license_id, license_key, email, transaction_id, activation_id: json.activation.id };
}

/** Carries a request out, and tries again after a lock timeout, as the job of the request does. */
async function carryOut(id: string): Promise<unknown> {
  for (;;)
    try {
      return await erasures.run(id);
    } catch (error) {
      if (!/lock timeout/.test((error as Error).message)) throw error;
    }
}

/** Requests an erasure as a holder, so that its job is due in three days and only `carryOut` runs it. */
const requestAsHolder = async (email: string) => (await erasures.request(email)).id;

/**
 * The signs of an incomplete erasure: an erased license that has not ended, or that has an active machine, the id or label of a
 * machine, or a purchase with an address; and a license with an address whose purchase has none.
 */
const findIncompleteErasures = () =>
  service.sql(
    `select l.id, l.email, p.email as buyer, a.machine_id, a.hostname_hint, a.ended_at
     from license l left join purchase p on p.id = l.purchase_id left join activation a on a.license_id = l.id
     where (l.email is null and (p.email is not null or a.machine_id is not null or a.hostname_hint is not null
              or (a.id is not null and a.ended_at is null) or l.ended_at is null))
        or (l.email is not null and p.id is not null and p.email is null)`,
  );

test.each(ROUNDS)(
  'an erasure that runs at the same time as other changes of the license is complete (round %i)',
  async (round) => {
    const license = await sellAndActivate(`changed-${round}`);
    const { license_id, email, transaction_id, activation_id } = license;
    const id = await requestAsHolder(email);
    const changes: (() => Promise<unknown>)[] = [
      () => service.activate(license, 'second', { hostname_hint: 'Second' }),
      () => service.app.get(ReleaseService).release(activation_id, AUDIT_CONTEXT),
      // After the refund or the erasure `rekey` is refused, because the new key could not be mailed.
      () =>
        licenses
          .rekey(license_id, AUDIT_CONTEXT)
          .catch((refused: unknown) => expect(refused).toMatchObject({ code: 'key_not_mailable' })),
      () => purchases.record({ transaction_id, status: 'disputed' }),
      () => purchases.record({ transaction_id, status: 'refunded' }),
      () => service.activate(license, 'third'),
      () => purchases.record({ transaction_id, status: 'paid', email }),
    ];
    // The erasure takes each position among the changes in turn.
    const erasure = () => carryOut(id);
    const order = changes.toSpliced(round % (changes.length + 1), 0, erasure);
    await Promise.all(order.map((each) => each()));
    expect(await findIncompleteErasures()).toEqual([]);
    expect(await service.sql('select email from license where id = $1', [license_id])).toEqual([
      { email: null },
    ]);
  },
);

test.each(ROUNDS)(
  'a purchase during an erasure is erased completely or not at all (round %i)',
  async (round) => {
    const email = `buyer-${round}@race.example`;
    await sell(service, email, `before-${round}`);
    const id = await requestAsHolder(email);
    const paid = (i: number) => (): Promise<unknown> =>
      purchases.record({ transaction_id: `during-${round}-${i}`, email, status: 'paid' });
    // The first of them was disputed before it was paid, so its purchase already exists, without an address.
    await purchases.record({ transaction_id: `during-${round}-1`, status: 'disputed' });
    const order = [paid(1), paid(2), paid(3)].toSpliced(round % 4, 0, () => carryOut(id));
    await Promise.all(order.map((each) => each()));
    expect(await findIncompleteErasures()).toEqual([]);
    const [before] = await service.sql('select email, paid from purchase where transaction_id = $1', [
      `before-${round}`,
    ]);
    expect(before).toEqual({ email: null, paid: true });
  },
);

const LOCK_PURCHASE = 'select 1 from purchase where transaction_id = $1 for update';

test('a purchase that is recorded while the erasure waits for a lock is not erased at all', async () => {
  const email = 'between@race.example';
  await sell(service, email, 'between-before');
  await purchases.record({ transaction_id: 'between', status: 'disputed' });
  const id = await requestAsHolder(email);
  // The erasure waits for the lock of another purchase while this one is recorded.
  const lock = await OpenTransaction.begin(service, LOCK_PURCHASE, ['between-before']);
  const erasing = carryOut(id);
  await lock.untilWaiting();
  await purchases.record({ transaction_id: 'between', email, status: 'paid' });
  await lock.commit();
  await erasing;
  expect(await findIncompleteErasures()).toEqual([]);
  expect(await service.sql('select email from purchase where email = $1', [email])).toHaveLength(1);
  expect(await service.sql('select email from license where email = $1', [email])).toHaveLength(1);
});

test.each([
  ['an hour before the erasure', '-1 hour'],
  ['while a clock was ahead by a year', '1 year'],
])(
  'a license that was issued %s and is linked to its purchase while the erasure waits for a lock is erased with this purchase',
  async (_when, age) => {
    const name = `linked ${age}`.replaceAll(/\W/g, '-');
    const email = `${name}@race.example`;
    await sell(service, email, `${name}-before`);
    const keys = service.app.get(LicenseKeys);
    const { key_hash } = keys.derive(keys.purchaseIds(name).license_id, 1);
    const { license_id } = await service.issue({ email });
    // The erasure locks again only because of a license from before it. A time that is ahead of both clocks
    // counts as earlier (`lockPersonalData` and `timeOfReturn` in src/erasure/erase.ts).
    const setKey = 'update license set key_hash = $2, created_at = created_at + $3::interval where id = $1';
    await service.sql(setKey, [license_id, key_hash, age]);
    const id = await requestAsHolder(email);
    const lock = await OpenTransaction.begin(service, LOCK_PURCHASE, [`${name}-before`]);
    const erasing = carryOut(id);
    await lock.untilWaiting();
    expect(await purchases.record({ transaction_id: name, email, status: 'paid' })).toMatchObject({
      license_id,
    });
    await lock.commit();
    expect(await erasing).toMatchObject({ erased: { licenses: 2, purchases: 2 } });
    expect(await service.sql('select 1 from purchase where email = $1', [email])).toEqual([]);
    expect(await service.sql('select 1 from license where email = $1', [email])).toEqual([]);
    expect(readFileSync(join(service.dataDir, 'erased.txt'), 'utf8')).toContain(`license ${license_id}\n`);
  },
);

test('ten concurrent runs of a request erase once, and all return the same result', async () => {
  const { email } = await sellAndActivate('ten');
  const id = await requestAsHolder(email);
  const results = await Promise.all(Array.from({ length: 10 }, () => carryOut(id)));
  expect(new Set(results.map((result) => JSON.stringify(result))).size).toBe(1);
  expect(results[0]).toMatchObject({
    state: 'honoured',
    erased: { licenses: 1, activations: 1, purchases: 1 },
  });
  expect(await mailsTo(service, email, /was deleted/)).toHaveLength(1);
});
