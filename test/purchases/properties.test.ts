import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { PurchaseState, StaffStatus } from '../../src/licenses/license.rules.js';
import { Service } from '../support/harness.js';
import { buyerOf, mails, sendReport, readPurchase, PURCHASE_SETTINGS } from '../support/http/webhook.js';

// The machine limit is never reached, so that only a refund ends an activation.
const environment = { ...PURCHASE_SETTINGS, DEFAULT_MACHINES_PER_LICENSE: '9' };
/** Two instances with one database, as behind a load balancer. */
const one = await Service.start({ environment });
const two = await Service.beside(one, { environment });

const RANKED: readonly PurchaseState[] = ['paid', 'disputed', 'dispute_won', 'refunded'];
const CLIENT_ACTIONS = ['activate a', 'activate b', 'heartbeat'] as const;
const STAFF_ACTIONS = ['suspended', 'active'] as const;
type Action = PurchaseState | (typeof CLIENT_ACTIONS)[number] | (typeof STAFF_ACTIONS)[number];

/** Events are sent in the order of `rank`. An event with `isConcurrent` is sent together with the one before it. */
interface Position {
  readonly rank: number;
  readonly isConcurrent: boolean;
  readonly instance: number;
}
interface Event {
  /** The index of one of four transactions. */
  readonly transaction: number;
  readonly action: Action;
  /** The positions in the first and in the second order. */
  readonly positions: readonly [Position, Position];
}

const position = fc.record({ rank: fc.nat(99), isConcurrent: fc.boolean(), instance: fc.nat(1) });
const event: fc.Arbitrary<Event> = fc.record({
  transaction: fc.nat(3),
  action: fc.oneof<fc.WeightedArbitrary<Action>[]>(
    { weight: 2, arbitrary: fc.constant('paid') },
    { weight: 3, arbitrary: fc.constantFrom(...RANKED) },
    { weight: 4, arbitrary: fc.constantFrom(...CLIENT_ACTIONS) },
    { weight: 1, arbitrary: fc.constantFrom(...STAFF_ACTIONS) },
  ),
  positions: fc.tuple(position, position),
});
const events = fc.array(event, { minLength: 1, maxLength: 48, size: 'max' });

const isReport = (action: Action): action is PurchaseState => RANKED.includes(action as PurchaseState);
const isByStaff = (action: Action) => STAFF_ACTIONS.includes(action as (typeof STAFF_ACTIONS)[number]);

/** The events in one of their orders. The events of a batch are sent concurrently. */
function batchesOf(sequence: readonly Event[], order: 0 | 1): Event[][] {
  const batches: Event[][] = [];
  for (const next of sequence.toSorted((a, b) => a.positions[order].rank - b.positions[order].rank)) {
    if (next.positions[order].isConcurrent && batches.length > 0) batches.at(-1)!.push(next);
    else batches.push([next]);
  }
  return batches;
}

/** Sends the events in one order to four transactions of its own, and checks the responses. */
class Scenario {
  readonly #tokens = new Map<number, string>();
  /** Transactions whose refund was answered. From then on each request for their license is refused as refunded. */
  readonly #refunded = new Set<number>();
  readonly #staffStatus = new Map<number, StaffStatus>();

  constructor(
    readonly name: string,
    readonly order: 0 | 1,
  ) {}

  id(transaction: number): string {
    return `${this.name}-${transaction}`;
  }

  async run(sequence: readonly Event[]): Promise<void> {
    for (const batch of batchesOf(sequence, this.order)) {
      const staffEvents = batch.filter(({ action }) => isByStaff(action));
      const others = batch.filter(({ action }) => !isByStaff(action));
      await Promise.all([
        ...others.map((event) => this.send(event)),
        this.applyStaffEvents(staffEvents),
        this.checkActivations(),
      ]);
      for (const { transaction, action } of batch) if (action === 'refunded') this.#refunded.add(transaction);
    }
  }

  private async send({ transaction, action, positions }: Event): Promise<void> {
    const service = positions[this.order].instance ? two : one;
    if (isReport(action))
      return expect((await sendReport(service, this.id(transaction), action)).status).toBe(204);
    const isRefunded = this.#refunded.has(transaction);
    const answer = await (action === 'heartbeat'
      ? this.heartbeat(service, transaction)
      : this.activate(service, transaction, action));
    if (!answer) return;
    const outcome = answer.json.code ?? 'active';
    expect(isRefunded ? ['license_refunded'] : ['active', 'license_suspended', 'license_refunded']).toContain(
      outcome,
    );
    if (outcome === 'active') this.#tokens.set(transaction, answer.json.token as string);
  }

  private async heartbeat(service: Service, transaction: number) {
    const token = this.#tokens.get(transaction);
    return token === undefined ? undefined : service.heartbeat(token);
  }

  private async activate(service: Service, transaction: number, machine: string) {
    const license = await readPurchase(one, this.id(transaction));
    return license?.license_id ? service.activate(license, machine) : undefined;
  }

  // The changes are made one after the other, because the last of two concurrent changes would be unknown.
  private async applyStaffEvents(staffEvents: readonly Event[]): Promise<void> {
    for (const { transaction, action } of staffEvents) {
      const license_id = (await readPurchase(one, this.id(transaction)))?.license_id;
      if (!license_id) continue;
      await one.setLicense(license_id, { staff_status: action as StaffStatus });
      this.#staffStatus.set(transaction, action as StaffStatus);
    }
  }

  /** Checks that no refunded license has an active activation. */
  private async checkActivations(): Promise<void> {
    const found = await one.sql(
      `select p.transaction_id from activation a join license l on l.id = a.license_id
       join purchase p on p.id = l.purchase_id where p.state = 'refunded' and a.ended_at is null`,
    );
    expect(found).toEqual([]);
  }

  /**
   * Checks the staff status and the activations of a transaction, which depend on the order.
   * @returns its final state without them, and the outcome of an activation while the staff status is `active`
   */
  async finalState(transaction: number) {
    const purchase = await readPurchase(one, this.id(transaction));
    if (!purchase) return null;
    const { state, paid, license_id, email, staff_status } = purchase;
    if (!license_id) return { state, paid, licenses: 0 };
    expect(staff_status).toBe(this.#staffStatus.get(transaction) ?? 'active');
    const ends = await one.sql<{ ended_reason: string | null }>(
      'select distinct ended_reason from activation where license_id = $1',
      [license_id],
    );
    for (const { ended_reason } of ends) expect(ended_reason).toBe(state === 'refunded' ? 'refunded' : null);
    await one.setLicense(license_id, { staff_status: 'active' });
    const { json } = await two.activate(purchase, 'the last');
    const hasBuyersAddress = email === buyerOf(this.id(transaction));
    return { state, paid, licenses: 1, hasBuyersAddress, outcome: (json.code ?? 'active') as string };
  }

  /** The allowed numbers of mails. A refund may be recorded before the mail of the purchase is written. */
  allowedMailCounts(transaction: number, sequence: readonly Event[]): number[] {
    const batches = batchesOf(sequence, this.order);
    const first = (status: Action) =>
      batches.findIndex((batch) => batch.some((e) => e.transaction === transaction && e.action === status));
    const [paid, refunded] = [first('paid'), first('refunded')];
    if (paid < 0 || (refunded >= 0 && refunded < paid)) return [0];
    return refunded < 0 ? [1] : [0, 1];
  }
}

const OUTCOMES = {
  paid: 'active',
  dispute_won: 'active',
  disputed: 'license_suspended',
  refunded: 'license_refunded',
};

/** The expected final state of a transaction, which depends only on the set of its reports. */
function expected(sequence: readonly Event[], transaction: number) {
  const reported = RANKED.filter((status) =>
    sequence.some((sent) => sent.transaction === transaction && sent.action === status),
  );
  const state = reported.at(-1);
  if (!state) return null;
  if (!reported.includes('paid')) return { state, paid: false, licenses: 0 };
  return { state, paid: true, licenses: 1, hasBuyersAddress: true, outcome: OUTCOMES[state] };
}

let runs = 0;

test('the final state depends only on the set of reports, not on their order, number, instance or concurrency', async () => {
  await fc.assert(
    fc.asyncProperty(events, async (sequence) => {
      runs += 1;
      const scenarios = [new Scenario(`first-${runs}`, 0), new Scenario(`second-${runs}`, 1)] as const;
      await Promise.all(scenarios.map((scenario) => scenario.run(sequence)));
      const sent = await mails(one);
      await rm(join(one.dataDir, 'outbox'), { recursive: true, force: true });
      for (const transaction of [0, 1, 2, 3]) {
        const [first, second] = [
          await scenarios[0].finalState(transaction),
          await scenarios[1].finalState(transaction),
        ];
        expect(first).toEqual(second);
        expect(first).toEqual(expected(sequence, transaction));
        for (const scenario of scenarios) {
          const { license_key } = (await readPurchase(one, scenario.id(transaction))) ?? {};
          const received = sent.filter(({ to }) => to === buyerOf(scenario.id(transaction)));
          expect(scenario.allowedMailCounts(transaction, sequence)).toContain(received.length);
          for (const mail of received) expect(mail.license_key).toBe(license_key);
        }
      }
    }),
    // After 20 seconds no further case is run, neither a new one nor a smaller one after a failure, so the test ends in time.
    { numRuns: 20, interruptAfterTimeLimit: 20_000 },
  );
});
