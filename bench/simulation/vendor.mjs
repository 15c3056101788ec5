import { createHash, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { root } from '../../scripts/prepare.mjs';
import { makeManifest } from '../load/data.mjs';
import { post } from '../load/requests.mjs';
import { VERSIONS } from './fleet.mjs';
import { BINDING, SALE } from './expected-state.mjs';

/** Of a hundred purchases, and of a hundred machines. */
const REFUNDED = 1;
const RELEASED = 0.5;
/** How many are asked for at once. */
const LANES = 4;
/** What was not done is asked for again after this, by the machine's clock. */
const AGAIN_MS = 200;

const STAFF = '0198c000-0000-7000-a000-000000000001';
const STAFF_TOKEN = 'mst_of-the-simulated-support';

/** The vendor's side: the payment processor, support and the publisher. */
export class Vendor {
  #expected;
  #checker;
  #connections;
  #random;
  #licenses;
  #over;

  /** @param over a signal that nothing will be answered any more */
  constructor(expected, { checker, connections, random, licenses, over }) {
    this.#expected = expected;
    this.#checker = checker;
    this.#connections = connections;
    this.#random = random;
    this.#licenses = licenses;
    this.#over = over;
  }

  /** Makes who may release machines. */
  static async staff(client) {
    await client.query(`insert into staff values ($1, 'support@example.com', 'support', now())`, [STAFF]);
    await client.query(`insert into staff_token values ($1, $1, $2, now(), now() + interval '90 days')`, [
      STAFF,
      createHash('sha256').update(STAFF_TOKEN).digest(),
    ]);
  }

  /** The processor reports refunds. @returns how many */
  refund(secret) {
    const { sale } = this.#expected;
    const webhook = new Webhook(secret);
    const wave = this.#drawn(sale.length, REFUNDED, () => true);
    return this.#each(wave, async (license) => {
      sale[license] = SALE.beingRefunded;
      const body = { transaction_id: `transaction-${this.#licenses[license].lic}`, status: 'refunded' };
      await this.#ask('purchases', () => {
        const [id, now] = [`msg_${randomUUID()}`, new Date()];
        const signature = webhook.sign(id, now, JSON.stringify(body));
        const timestamp = Math.floor(now.getTime() / 1000);
        const signed = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature };
        return post('/v1/purchases', body, headers(signed));
      });
      sale[license] = SALE.refunded;
    });
  }

  /** Support releases machines. @returns how many */
  release() {
    const { binding, id, sale, license } = this.#expected;
    const isThere = (client) => binding[client] === BINDING.active && sale[license[client]] === SALE.paid;
    const wave = this.#drawn(binding.length, RELEASED, isThere);
    return this.#each(wave, async (client) => {
      binding[client] = BINDING.beingReleased;
      const path = `/support/api/activations/${id[client]}/release`;
      const request = post(
        path,
        { reason: 'asked for' },
        headers({ authorization: `Bearer ${STAFF_TOKEN}` }),
      );
      await this.#ask('release', () => request);
      binding[client] = BINDING.released;
    });
  }

  /** The publisher publishes the next version with the command line. */
  async publish({ processes, folder, environment: { settings, publisher, live } }) {
    const file = join(folder, 'manifest.json');
    writeFileSync(file, JSON.stringify(await makeManifest(publisher, VERSIONS[1], live)));
    const { sequences } = this.#expected;
    sequences[1] = 2;
    await processes.command([join(root, 'dist/cli.js'), 'manifest', 'publish', file], settings);
    sequences[0] = 2;
  }

  #drawn(count, percent, fits) {
    const drawn = new Set();
    const wanted = Math.max(2, Math.round((count * percent) / 100));
    for (let tries = 0; drawn.size < wanted && tries < count * 10; tries += 1) {
      const one = this.#random.below(count);
      if (fits(one)) drawn.add(one);
    }
    return [...drawn];
  }

  async #each(wave, act) {
    let next = 0;
    const lane = async () => {
      while (next < wave.length) await act(wave[next++]);
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    return wave.length;
  }

  async #ask(route, makeRequest) {
    while (this.#checker.vendor(route, await this.#connections.ask(makeRequest())))
      await pause(AGAIN_MS, undefined, { signal: this.#over });
  }
}

const headers = (named) =>
  Object.entries(named)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
