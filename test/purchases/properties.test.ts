import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { PurchaseState, StaffStatus } from '../../src/licenses/license.rules.js';
import { Service } from '../support/harness.js';
import { buyerOf, mails, reportOf, sold, TAKES_PURCHASES } from '../support/http/webhook.js';

/** Two instances on one database, as behind a balancer. */
let one: Service;
let two: Service;
beforeAll(async () => {
  // Seats for every machine that asks: what ends a binding here is a purchase.
  const environment = { ...TAKES_PURCHASES, DEFAULT_MACHINES_PER_LICENSE: '9' };
  one = await Service.start({ environment });
  two = await Service.start({ environment, databaseUrl: one.databaseUrl, dataDir: one.dataDir });
});
afterAll(async () => {
  await two.close();
  await one.close();
});

const RANKED: readonly PurchaseState[] = ['paid', 'disputed', 'dispute_won', 'refunded'];
const CLIENTS = ['activate a', 'activate b', 'heartbeat'] as const;
const STAFF = ['suspended', 'active'] as const;
type Act = PurchaseState | (typeof CLIENTS)[number] | (typeof STAFF)[number];

/** The place of an event among the others: with `joins` it is sent at once with the one before. */
interface Place {
  readonly rank: number;
  readonly joins: boolean;
  readonly instance: number;
}
interface Event {
  /** Which of four transactions it is about. */
  readonly of: number;
  readonly act: Act;
  /** In the first order, and in the second. */
  readonly places: readonly [Place, Place];
}

const place = fc.record({ rank: fc.nat(99), joins: fc.boolean(), instance: fc.nat(1) });
const event: fc.Arbitrary<Event> = fc.record({
  of: fc.nat(3),
  act: fc.oneof<fc.WeightedArbitrary<Act>[]>(
    { weight: 2, arbitrary: fc.constant('paid') },
    { weight: 3, arbitrary: fc.constantFrom(...RANKED) },
    { weight: 4, arbitrary: fc.constantFrom(...CLIENTS) },
    { weight: 1, arbitrary: fc.constantFrom(...STAFF) },
  ),
  places: fc.tuple(place, place),
});
const events = fc.array(event, { minLength: 1, maxLength: 48, size: 'max' });

const isReport = (act: Act): act is PurchaseState => RANKED.includes(act as PurchaseState);
const isStaffs = (act: Act) => STAFF.includes(act as (typeof STAFF)[number]);

/** The events in one of their orders; those of a batch are sent at once. */
function batchesOf(all: readonly Event[], order: 0 | 1): Event[][] {
  const batches: Event[][] = [];
  for (const each of all.toSorted((a, b) => a.places[order].rank - b.places[order].rank)) {
    if (each.places[order].joins && batches.length > 0) batches.at(-1)!.push(each);
    else batches.push([each]);
  }
  return batches;
}

/** Four transactions, what was done about them, and what must hold meanwhile. */
class Story {
  readonly #tokens = new Map<number, string>();
  /** Refunds that were answered: from then on the license is answered as refunded, and nothing else. */
  readonly #refunded = new Set<number>();
  readonly #staffStatus = new Map<number, StaffStatus>();

  constructor(
    readonly name: string,
    readonly order: 0 | 1,
  ) {}

  id(of: number): string {
    return `${this.name}-${of}`;
  }

  async play(all: readonly Event[]): Promise<void> {
    for (const batch of batchesOf(all, this.order)) {
      const staffs = batch.filter(({ act }) => isStaffs(act));
      const others = batch.filter(({ act }) => !isStaffs(act));
      await Promise.all([...others.map((each) => this.send(each)), this.staff(staffs), this.watch()]);
      for (const { of, act } of batch) if (act === 'refunded') this.#refunded.add(of);
    }
  }

  private async send({ of, act, places }: Event): Promise<void> {
    const service = places[this.order].instance ? two : one;
    if (isReport(act)) return expect((await reportOf(service, this.id(of), act)).status).toBe(204);
    const isOver = this.#refunded.has(of);
    const answer = await (act === 'heartbeat'
      ? this.heartbeat(service, of)
      : this.activate(service, of, act));
    if (!answer) return;
    const outcome = answer.json.code ?? 'active';
    expect(isOver ? ['license_refunded'] : ['active', 'license_suspended', 'license_refunded']).toContain(
      outcome,
    );
    if (outcome === 'active') this.#tokens.set(of, answer.json.token as string);
  }

  private async heartbeat(service: Service, of: number) {
    const token = this.#tokens.get(of);
    return token === undefined ? undefined : service.heartbeat(token);
  }

  private async activate(service: Service, of: number, machine: string) {
    const license = await sold(one, this.id(of));
    return license?.license_id ? service.activate(license, machine) : undefined;
  }

  // One after the other: which of two that come at once is the last one cannot be known.
  private async staff(staffs: readonly Event[]): Promise<void> {
    for (const { of, act } of staffs) {
      const license_id = (await sold(one, this.id(of)))?.license_id;
      if (!license_id) continue;
      await one.setLicense(license_id, { staff_status: act as StaffStatus });
      this.#staffStatus.set(of, act as StaffStatus);
    }
  }

  /** No moment shows an active binding under a refunded license. */
  private async watch(): Promise<void> {
    const found = await one.sql(
      `select p.transaction_id from activation a join license l on l.id = a.license_id
       join purchase p on p.id = l.purchase_id where p.state = 'refunded' and a.ended_at is null`,
    );
    expect(found).toEqual([]);
  }

  /** What became of a transaction, without what the order may decide: which machines came in time. */
  async end(of: number) {
    const purchase = await sold(one, this.id(of));
    if (!purchase) return null;
    const { state, paid, license_id, email, staff_status } = purchase;
    if (!license_id) return { state, paid, licenses: 0 };
    expect(staff_status).toBe(this.#staffStatus.get(of) ?? 'active');
    const ends = await one.sql<{ ended_reason: string | null }>(
      'select distinct ended_reason from activation where license_id = $1',
      [license_id],
    );
    for (const { ended_reason } of ends) expect(ended_reason).toBe(state === 'refunded' ? 'refunded' : null);
    await one.setLicense(license_id, { staff_status: 'active' });
    const { json } = await two.activate(purchase, 'the last');
    const isBuyers = email === buyerOf(this.id(of));
    return { state, paid, licenses: 1, isBuyers, says: (json.code ?? 'active') as string };
  }

  /** How many mails there may be: a refund at once with the purchase, or after it, may come before the mail is written. */
  mailsFor(of: number, all: readonly Event[]): number[] {
    const batches = batchesOf(all, this.order);
    const first = (status: Act) =>
      batches.findIndex((batch) => batch.some((e) => e.of === of && e.act === status));
    const [paid, refunded] = [first('paid'), first('refunded')];
    if (paid < 0 || (refunded >= 0 && refunded < paid)) return [0];
    return refunded < 0 ? [1] : [0, 1];
  }
}

const SAYS = {
  paid: 'active',
  dispute_won: 'active',
  disputed: 'license_suspended',
  refunded: 'license_refunded',
};

/** What must become of a transaction, by the set of its reports alone. */
function expected(all: readonly Event[], of: number) {
  const reported = RANKED.filter((status) => all.some((each) => each.of === of && each.act === status));
  const state = reported.at(-1);
  if (!state) return null;
  if (!reported.includes('paid')) return { state, paid: false, licenses: 0 };
  return { state, paid: true, licenses: 1, isBuyers: true, says: SAYS[state] };
}

let runs = 0;

test('the end depends on which reports came: not on their order, number, place or company', async () => {
  await fc.assert(
    fc.asyncProperty(events, async (all) => {
      runs += 1;
      const stories = [new Story(`first-${runs}`, 0), new Story(`second-${runs}`, 1)] as const;
      await Promise.all(stories.map((story) => story.play(all)));
      const sent = await mails(one);
      await rm(join(one.dataDir, 'outbox'), { recursive: true, force: true });
      for (const about of [0, 1, 2, 3]) {
        const [first, second] = [await stories[0].end(about), await stories[1].end(about)];
        expect(first).toEqual(second);
        expect(first).toEqual(expected(all, about));
        for (const story of stories) {
          const { license_key } = (await sold(one, story.id(about))) ?? {};
          const got = sent.filter(({ to }) => to === buyerOf(story.id(about)));
          expect(story.mailsFor(about, all)).toContain(got.length);
          for (const mail of got) expect(mail.license_key).toBe(license_key);
        }
      }
    }),
    // However long it takes to find the smallest case, it is reported in time.
    { numRuns: 20, interruptAfterTimeLimit: 20_000 },
  );
});
