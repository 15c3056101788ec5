import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { root } from '../../scripts/prepare.mjs';
import { makeManifest } from '../load/data.mjs';
import { post, purchaseReport } from '../load/requests.mjs';
import { VERSIONS } from './fleet.mjs';
import { ACTIVATION, PURCHASE } from './expected-state.mjs';

/** The percentage of purchases that are refunded, and of clients whose machine is released by support. */
const REFUNDED_PERCENT = 1;
const RELEASED_PERCENT = 0.5;
const CONCURRENT_REQUESTS = 4;
/** The delay, in real time, before a request that failed is repeated. */
const RETRY_DELAY_MS = 200;

const STAFF_ID = '0198c000-0000-7000-a000-000000000001';
const STAFF_TOKEN = 'mst_of-the-simulated-support';

/**
 * Does what the vendor's side does: the payment processor reports refunds, support releases machines, the publisher
 * publishes.
 */
export class Vendor {
  #expected;
  #checker;
  #connections;
  #random;
  #licenses;
  #ended;

  /** @param ended signal that the simulation has ended, so that no request is repeated */
  constructor(expected, { checker, connections, random, licenses, ended }) {
    this.#expected = expected;
    this.#checker = checker;
    this.#connections = connections;
    this.#random = random;
    this.#licenses = licenses;
    this.#ended = ended;
  }

  /** Inserts the staff member whose token releases machines. */
  static async insertStaff(client) {
    await client.query(`insert into staff values ($1, 'support@example.com', 'support', now())`, [STAFF_ID]);
    // The token is dated a day back: if midnight passes while PostgreSQL starts, the simulated time begins before now().
    await client.query(
      `insert into staff_token values ($1, $1, $2, now() - interval '1 day', now() + interval '90 days')`,
      [STAFF_ID, createHash('sha256').update(STAFF_TOKEN).digest()],
    );
  }

  /** The payment processor reports refunds. @returns the number of refunds */
  refund(secret) {
    const { purchase } = this.#expected;
    const licenses = this.#draw(purchase.length, REFUNDED_PERCENT, () => true);
    return this.#forEach(licenses, async (license) => {
      purchase[license] = PURCHASE.beingRefunded;
      const body = { transaction_id: `transaction-${this.#licenses[license].lic}`, status: 'refunded' };
      await this.#sendUntilDone('purchases', () => purchaseReport(secret, body));
      purchase[license] = PURCHASE.refunded;
    });
  }

  /** Support releases machines. @returns the number of machines */
  release() {
    const { activation, activationId, purchase, license } = this.#expected;
    const isActive = (client) =>
      activation[client] === ACTIVATION.active && purchase[license[client]] === PURCHASE.paid;
    const clients = this.#draw(activation.length, RELEASED_PERCENT, isActive);
    return this.#forEach(clients, async (client) => {
      activation[client] = ACTIVATION.beingReleased;
      const path = `/support/api/activations/${activationId[client]}/release`;
      const request = post(path, { reason: 'asked for' }, { authorization: `Bearer ${STAFF_TOKEN}` });
      await this.#sendUntilDone('release', () => request);
      activation[client] = ACTIVATION.released;
    });
  }

  /** The publisher publishes the next version with the command line. */
  async publish({ processes, folder, environment: { settings, publisher, liveManifest } }) {
    const file = join(folder, 'manifest.json');
    writeFileSync(file, JSON.stringify(await makeManifest(publisher, VERSIONS[1], liveManifest)));
    this.#expected.highestSequence = 2;
    // The image at the address in the manifest does not exist, so `--no-fetch` skips its download.
    const command = [join(root, 'dist/cli.js'), 'manifest', 'publish', '--no-fetch', file];
    await processes.runCommand(command, settings);
    this.#expected.lowestSequence = 2;
  }

  /** Draws random numbers below `count` with a property: `percent` percent of `count` and at least two, or all that it finds. */
  #draw(count, percent, hasProperty) {
    const drawn = new Set();
    const size = Math.max(2, Math.round((count * percent) / 100));
    for (let tries = 0; drawn.size < size && tries < count * 10; tries += 1) {
      const number = this.#random.below(count);
      if (hasProperty(number)) drawn.add(number);
    }
    return [...drawn];
  }

  async #forEach(numbers, act) {
    let next = 0;
    const worker = async () => {
      while (next < numbers.length) await act(numbers[next++]);
    };
    await Promise.all(Array.from({ length: CONCURRENT_REQUESTS }, worker));
    return numbers.length;
  }

  async #sendUntilDone(route, makeRequest) {
    while (this.#checker.shouldRepeat(route, await this.#connections.send(makeRequest())))
      await pause(RETRY_DELAY_MS, undefined, { signal: this.#ended });
  }
}
