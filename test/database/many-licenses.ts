import type pg from 'pg';
import { fillWithoutIndexes } from '../../bench/load/fill-without-indexes.js';

/** So many that a full scan reads about a hundred times the pages that a statement may read for a row (`growth.test.ts`). */
const LICENSES = 400_000;
const ACTIVATIONS = 200_000;
const PURCHASES = 100_000;
/** The number of audit events, and the number of release requests, of which 100 are not decided. */
export const AUDIT_EVENTS = 50_000;

/** The tables that grow with the number of customers. */
export const GROWING_TABLES = ['license', 'activation', 'purchase', 'audit_event', 'release_request'];

/** The digit of each table in the ids of its rows. */
const KINDS = { purchase: 1, license: 2, activation: 3, audit_event: 4, release_request: 5 } as const;
type Table = keyof typeof KINDS;

// Ids and digests ascend with the number of the row, so that the indexes are filled from one end to the other.
const id = (table: Table) => `('01980000-000${KINDS[table]}-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid`;
const digest = "decode(lpad(to_hex(n), 64, '0'), 'hex')";
const numbers = (count: number) => `from generate_series(1, ${count}) n`;
const FILL = `
  insert into purchase (id, transaction_id, state, recorded_on, paid)
  select ${id('purchase')}, 'tx_' || lpad(n::text, 7, '0'), 'paid', '2026-01-01', true ${numbers(PURCHASES)};
  insert into license (id, key_hash, key_hint, email, machines_allowed, on_expiry, purchase_id, created_at)
  select ${id('license')}, ${digest}, 'X6', 'buyer-' || n || '@example.com', 1, 'keep',
    case when n <= ${PURCHASES} then ${id('purchase')} end, '2026-01-01' ${numbers(LICENSES)};
  insert into activation (id, license_id, machine_id, app_version, activated_at)
  select ${id('activation')}, ${id('license')}, ${digest}, '3.2.0', '2026-01-01' ${numbers(ACTIVATIONS)};
  insert into audit_event (id, actor, action, license_id, change, at)
  select ${id('audit_event')}, 'test', 'license.set', ${id('license')}, '{}', timestamptz '2026-01-01' + n * interval '1 minute'
  ${numbers(AUDIT_EVENTS)};
  insert into release_request (id, activation_id, asked_at, decided_at, decision)
  select ${id('release_request')}, ${id('activation')}, '2026-01-01', case when n > 100 then timestamptz '2026-01-02' end,
    case when n > 100 then 'release' end ${numbers(AUDIT_EVENTS)}`;

/** The id of the n-th row of a table. */
export const idOf = (table: Table, n: number) =>
  `01980000-000${KINDS[table]}-7000-8000-${n.toString(16).padStart(12, '0')}`;

/** Inserts licenses with activations, purchases, audit events and release requests, within some seconds. */
export async function insertManyLicenses(database: pg.Pool): Promise<void> {
  const client = await database.connect();
  await fillWithoutIndexes(client, GROWING_TABLES, () => client.query(FILL));
  await client.query(`analyze ${GROWING_TABLES.join(', ')}`);
  client.release();
}
