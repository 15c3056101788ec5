import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { activation, type Service } from '../support/harness.js';
import { attemptCall, type FragilePostgres, type Timed } from '../support/databases/outage-harness.js';
import { query } from '../support/databases/replica-harness.js';
import { buyerOf, PURCHASES_PATH, signatureHeaders, readPurchase } from '../support/http/webhook.js';

/** The buyer of a license, with its first license key. The test derives the key from the id in the database, and reads no mail. */
export interface Buyer {
  readonly transaction_id: string;
  readonly email: string;
  readonly license_key: string;
}

/** A machine that was activated with the license of a buyer. */
export interface ActivatedMachine extends Buyer {
  readonly activation_id: string;
  readonly token: string;
}

/** An event of the payment processor. */
interface PurchaseEvent {
  readonly id: string;
  readonly body: { transaction_id: string; status: string; email?: string };
}

/** Simulates the payment processor, its buyers and their machines, and records what the service acknowledges to them. */
export class SalesSimulation {
  /** All events of the processor, reported or not. The processor can report them again. */
  readonly events: PurchaseEvent[] = [];
  /** The transactions whose payment the service has acknowledged. */
  readonly acknowledgedSales: string[] = [];
  /** The machines whose activation the service has acknowledged. */
  readonly machines: ActivatedMachine[] = [];
  /** The number of heartbeats whose telemetry the service has acknowledged as stored. */
  storedTelemetry = 0;
  #saleCount = 0;
  #heartbeatCount = 0;

  constructor(readonly service: () => Service) {}

  /** Reports an event, for the first time or again. The status is 0 if the connection breaks. */
  async report({ id, body }: PurchaseEvent): Promise<Timed> {
    const text = JSON.stringify(body);
    const answer = await this.#call('report', PURCHASES_PATH, text, signatureHeaders(text, { id }));
    if (
      answer.status === 204 &&
      body.status === 'paid' &&
      !this.acknowledgedSales.includes(body.transaction_id)
    )
      this.acknowledgedSales.push(body.transaction_id);
    return answer;
  }

  /** Reports all events again at the same time, and repeats each report that gets 503. */
  async reportAll(): Promise<void> {
    for (let pending = this.events; pending.length > 0;) {
      const answers = await Promise.all(pending.map((event) => this.report(event)));
      const refused = answers.find(({ status }) => ![204, 503].includes(status));
      if (refused) throw new Error(`A report was answered with ${refused.status}`);
      pending = pending.filter((_, i) => answers[i]!.status !== 204);
    }
  }

  /** Creates an event about a transaction, and reports it once. */
  createEvent(transaction_id: string, status: string): Promise<Timed> {
    const event = {
      id: `evt_${randomUUID()}`,
      body: { transaction_id, status, email: buyerOf(transaction_id) },
    };
    this.events.push(event);
    return this.report(event);
  }

  /** Sells a license. @returns its buyer, with its first license key */
  async sell(transaction_id: string): Promise<Buyer> {
    const { status } = await this.createEvent(transaction_id, 'paid');
    if (status !== 204) throw new Error(`The purchase was answered with ${status}`);
    return this.findBuyer(transaction_id);
  }

  async findBuyer(transaction_id: string): Promise<Buyer> {
    const { email, license_key } = (await readPurchase(this.service(), transaction_id))!;
    return { transaction_id, email, license_key };
  }

  async activate(buyer: Buyer): Promise<Timed> {
    const answer = await this.#call('activation', '/v1/activate', activation(buyer, buyer.transaction_id));
    if (answer.status === 201) {
      const { token, activation: created } = answer.json;
      this.machines.push({ ...buyer, token, activation_id: created.id });
    }
    return answer;
  }

  /** Sells a license and activates a machine with it. @returns the response to the request that failed, or to the last one */
  sellAndActivate = async (): Promise<Timed> => {
    const transaction_id = `sale-${(this.#saleCount += 1)}`;
    const report = await this.createEvent(transaction_id, 'paid');
    if (report.status !== 204) return report;
    const buyer = await this.findBuyer(transaction_id).catch(() => undefined);
    return buyer ? this.activate(buyer) : report;
  };

  /** Sends a heartbeat with telemetry from the next machine, in a cycle. */
  sendNextHeartbeat = async (): Promise<Timed> => {
    const { token } = this.machines[(this.#heartbeatCount += 1) % this.machines.length]!;
    const answer = await this.heartbeat(token, { os_version: 'macOS 26.1' });
    if (answer.json.telemetry?.stored) this.storedTelemetry += 1;
    return answer;
  };

  heartbeat(token: string, telemetry?: object): Promise<Timed> {
    return this.#call('heartbeat', '/v1/heartbeat', { token, app_version: '3.1.0', telemetry });
  }

  #call(name: string, path: string, body: unknown, headers?: Record<string, string>): Promise<Timed> {
    return attemptCall(name, this.service().url, 'POST', path, body, headers);
  }
}

/** Restarts a server so that it copies each finished segment of its write-ahead log to a folder. */
export async function startArchiving(postgres: FragilePostgres, archive: string): Promise<void> {
  mkdirSync(archive);
  await query(postgres.url, "alter system set archive_mode = 'on'");
  const file = `${archive}/%f`;
  const copy = `cp %p ${file}.tmp && sync ${file}.tmp && mv ${file}.tmp ${file} && sync ${archive}`;
  const command = `cmp -s %p ${file} || test ! -f ${file} && ${copy}`;
  await query(postgres.url, `alter system set archive_command = '${command}'`);
  await postgres.stop();
  await postgres.restart();
}

/** Waits until the archive contains everything that was written before this call. */
export async function waitUntilArchived({ url }: FragilePostgres): Promise<void> {
  const [row] = await query<{ segment: string }>(url, 'select pg_walfile_name(pg_switch_wal()) as segment');
  const done = 'select last_archived_wal >= $1 as done from pg_stat_archiver';
  while (!(await query<{ done: boolean | null }>(url, done, [row!.segment]))[0]!.done) await pause(20);
}
