import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { LicenseKeys } from '../../../src/keys/license-keys.js';
import type { PurchaseState } from '../../../src/licenses/license.rules.js';
import { call, type Answer, type Service } from '../harness.js';
import { until } from '../until.js';

/*
 * Sends reports as a payment processor does, and reads the mails that buyers receive. Reports are signed according to Standard
 * Webhooks, without the library that the service uses.
 */

/** The path of purchase reports. */
export const PURCHASES_PATH = '/v1/purchases';
/** The secret of the webhook signatures. */
export const WEBHOOK_SECRET = randomBytes(32).toString('base64');
/** The settings with which a service accepts purchase reports. */
export const PURCHASE_SETTINGS = { PURCHASE_WEBHOOK_SECRET: WEBHOOK_SECRET };

export interface Signing {
  /** The secret in base64. */
  readonly secret?: string;
  readonly id?: string;
  /** The time of the signature in Unix seconds. */
  readonly at?: number;
}

/** The time of the system's clock in Unix seconds. The age of a signature is measured by it, not by the service's `Clock`. */
export const unixTime = () => Math.floor(Date.now() / 1000);

/** Computes the headers that sign a body. */
export function signatureHeaders(
  body: string | Uint8Array,
  { secret = WEBHOOK_SECRET, id = `msg_${randomUUID()}`, at = unixTime() }: Signing = {},
): Record<string, string> {
  const hmac = createHmac('sha256', Buffer.from(secret, 'base64')).update(`${id}.${at}.`).update(body);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(at),
    'webhook-signature': `v1,${hmac.digest('base64')}`,
  };
}

/** Sends a signed report; an object becomes its JSON. */
export async function report(
  service: Pick<Service, 'url'>,
  body: unknown,
  signing?: Signing,
): Promise<Answer> {
  const text = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
  return call(service.url, 'POST', PURCHASES_PATH, text, signatureHeaders(text, signing));
}

/** The e-mail address of the buyer of a transaction. It is unique, so that tests find the buyer's mails. */
export const buyerOf = (transaction_id: string) => `${transaction_id.toLowerCase()}@buyer.example`;

/** Reports a status of a transaction, with its buyer. */
export const sendReport = (service: Pick<Service, 'url'>, transaction_id: string, status: PurchaseState) =>
  report(service, { transaction_id, email: buyerOf(transaction_id), status });

export interface StoredPurchase {
  readonly state: PurchaseState;
  readonly paid: boolean;
  readonly license_id: string | null;
  readonly staff_status: string | null;
  /** The first key of the license, which was mailed to the buyer unless the license is refunded; empty without a license. */
  readonly license_key: string;
  /** The address of the license; empty if there is none. */
  readonly email: string;
}

/** Reads the purchase of a transaction and its license; undefined if the transaction was not reported. */
export async function readPurchase(
  service: Service,
  transaction_id: string,
): Promise<StoredPurchase | undefined> {
  const [row] = await service.sql<Omit<StoredPurchase, 'license_key'>>(
    `select p.state, p.paid, l.id as license_id, l.staff_status, coalesce(l.email, '') as email
     from purchase p left join license l on l.purchase_id = p.id where p.transaction_id = $1`,
    [transaction_id],
  );
  if (!row) return undefined;
  // The key of a refunded license is not mailed, so it is derived here.
  const license_key = row.license_id
    ? service.app.get(LicenseKeys).derive(row.license_id, 1).license_key
    : '';
  return { ...row, license_key };
}

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly license_key: string | undefined;
  readonly text: string;
}

/** Waits until all mails are sent. @returns the mails in the outbox */
export async function mails(service: Service): Promise<Mail[]> {
  await waitForMails(service.database);
  const outbox = join(service.dataDir, 'outbox');
  const files = await readdir(outbox).catch(() => []);
  const texts = await Promise.all(files.map((file) => readFile(join(outbox, file), 'utf8')));
  return texts.map((text) => ({
    to: /^To: <?([^<>\n]+)>?$/m.exec(text)?.[1] ?? '',
    subject: /^Subject: (.*)$/m.exec(text)?.[1] ?? '',
    license_key: /MOOR_(?:[0-9A-Z]{4}-){3}[0-9A-Z]{4}/.exec(text)?.[0],
    text,
  }));
}

/** Waits until the queue has sent all mails. @throws Error if a mail could not be sent */
export async function waitForMails(database: pg.Pool | pg.Client): Promise<void> {
  await until(async () => {
    const { rows } = await database.query<{ last_error: string | null }>(
      'select last_error from graphile_worker.jobs',
    );
    const failed = rows.find(({ last_error }) => last_error !== null);
    if (failed) throw new Error(`A mail could not be sent: ${failed.last_error}`);
    return rows.length === 0;
  });
}

/** Waits until all mails are sent, and ends the service. */
export async function end(service: Service): Promise<void> {
  await waitForMails(service.database);
  await service.close();
}
