import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { activation, type Service } from '../support/harness.js';
import { tried, type FragilePostgres, type Timed } from '../support/databases/outage-harness.js';
import { query } from '../support/databases/replica-harness.js';
import { buyerOf, PURCHASES, signed, sold } from '../support/http/webhook.js';

export interface Buyer {
  readonly transaction_id: string;
  readonly email: string;
  readonly license_key: string;
}

export interface Bound extends Buyer {
  readonly activation_id: string;
  readonly token: string;
}

interface Event {
  readonly id: string;
  readonly body: { transaction_id: string; status: string; email?: string };
}

/** The payment processor, its buyers and their machines, with the responses that each of them got. */
export class Market {
  /** Every event of the processor, reported or not. The processor can report them all again. */
  readonly events: Event[] = [];
  /** What the service has acknowledged: purchases, bindings, and blocks of telemetry. */
  readonly paid: string[] = [];
  readonly bound: Bound[] = [];
  telemetry = 0;
  #sales = 0;
  #beats = 0;

  constructor(readonly service: () => Service) {}

  /** Reports an event for the first time or again. The status is 0 if the service is unavailable. */
  async tell({ id, body }: Event): Promise<Timed> {
    const text = JSON.stringify(body);
    const answer = await this.#call('report', PURCHASES, text, signed(text, { id }));
    if (answer.status === 204 && body.status === 'paid' && !this.paid.includes(body.transaction_id))
      this.paid.push(body.transaction_id);
    return answer;
  }

  /** Reports every event again, all at the same time, and repeats each that got 503. */
  async tellAll(): Promise<void> {
    for (let left = this.events; left.length > 0;) {
      const answers = await Promise.all(left.map((event) => this.tell(event)));
      const refused = answers.find(({ status }) => ![204, 503].includes(status));
      if (refused) throw new Error(`A report was answered with ${refused.status}`);
      left = left.filter((_, i) => answers[i]!.status !== 204);
    }
  }

  /** Changes the state of a purchase, and reports it once. */
  happens(transaction_id: string, status: string): Promise<Timed> {
    const event = {
      id: `evt_${randomUUID()}`,
      body: { transaction_id, status, email: buyerOf(transaction_id) },
    };
    this.events.push(event);
    return this.tell(event);
  }

  /** Makes a purchase, and reads the license key from the mail to its buyer. */
  async sell(transaction_id = `sale-${(this.#sales += 1)}`): Promise<Buyer> {
    const { status } = await this.happens(transaction_id, 'paid');
    if (status !== 204) throw new Error(`The purchase was answered with ${status}`);
    return this.buyer(transaction_id);
  }

  async buyer(transaction_id: string): Promise<Buyer> {
    const { email, license_key } = (await sold(this.service(), transaction_id))!;
    return { transaction_id, email, license_key };
  }

  async activate(buyer: Buyer, machine = buyer.transaction_id): Promise<Timed> {
    const answer = await this.#call('activation', '/v1/activate', activation(buyer, machine));
    if (answer.status === 201) {
      const { token, activation: made } = answer.json;
      this.bound.push({ ...buyer, token, activation_id: made.id });
    }
    return answer;
  }

  /** Makes a purchase and activates at once, if the service is available. */
  saleAndActivation = async (): Promise<Timed> => {
    const transaction_id = `sale-${(this.#sales += 1)}`;
    const report = await this.happens(transaction_id, 'paid');
    if (report.status !== 204) return report;
    const buyer = await this.buyer(transaction_id).catch(() => undefined);
    return buyer ? this.activate(buyer) : report;
  };

  /** Sends a heartbeat with telemetry for the next machine. */
  beat = async (): Promise<Timed> => {
    const { token } = this.bound[(this.#beats += 1) % this.bound.length]!;
    const answer = await this.heartbeat(token, { os_version: 'macOS 26.1' });
    if (answer.json.telemetry?.stored) this.telemetry += 1;
    return answer;
  };

  heartbeat(token: string, telemetry?: object): Promise<Timed> {
    return this.#call('heartbeat', '/v1/heartbeat', { token, app_version: '3.1.0', telemetry });
  }

  #call(name: string, path: string, body: unknown, headers?: Record<string, string>): Promise<Timed> {
    return tried(name, this.service().url, 'POST', path, body, headers);
  }
}

/** Makes a server copy each finished segment of its write-ahead log to a folder, from its next start on. */
export async function archiveTo(postgres: FragilePostgres, archive: string): Promise<void> {
  mkdirSync(archive);
  await query(postgres.url, "alter system set archive_mode = 'on'");
  const command = `test ! -f ${archive}/%f && cp %p ${archive}/%f`;
  await query(postgres.url, `alter system set archive_command = '${command}'`);
  await postgres.stop();
  await postgres.restart();
}

/** Waits until the archive contains all that was written until now. */
export async function archived({ url }: FragilePostgres): Promise<void> {
  const [row] = await query<{ segment: string }>(url, 'select pg_walfile_name(pg_switch_wal()) as segment');
  const done = 'select last_archived_wal >= $1 as done from pg_stat_archiver';
  while (!(await query<{ done: boolean | null }>(url, done, [row!.segment]))[0]!.done) await pause(20);
}
