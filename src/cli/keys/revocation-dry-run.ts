import type { DataSource } from 'typeorm';
import { queryOne } from '../../database/sql.js';
import type { KeyLine } from '../../keys/tokens/ring-file.js';
import { SETTLED_MS } from '../../keys/tokens/rotation.js';
import { aligned } from '../terminal/output.js';

/** Counts of active activations whose client may have a token of a key. The counts below `activations` add up to it. */
export interface Affected {
  readonly activations: number;
  /** The license still has the license key and the e-mail address that the machine activated with. */
  readonly unchanged: number;
  readonly key_replaced: number;
  readonly address_changed: number;
  readonly key_replaced_and_address_changed: number;
  /** The license was rekeyed by a version that did not record replaced keys. */
  readonly key_not_recorded: number;
}

// The same comparisons as in FIND_BY_MACHINE of src/activation/activation.service.ts.
const COUNT = `
  select count(*)::int as activations,
         count(*) filter (where change = 'unchanged')::int as unchanged,
         count(*) filter (where change = 'key')::int as key_replaced,
         count(*) filter (where change = 'address')::int as address_changed,
         count(*) filter (where change = 'both')::int as key_replaced_and_address_changed,
         count(*) filter (where change = 'not recorded')::int as key_not_recorded
  from (
    select case when l.key_generation - 1 > (select count(*) from replaced_key where license_id = l.id) then 'not recorded'
                when k.replaced and l.email_since >= a.activated_at then 'both'
                when k.replaced then 'key'
                when l.email_since >= a.activated_at then 'address'
                else 'unchanged' end as change
    from activation a join license l on l.id = a.license_id
    cross join lateral (select exists (select 1 from replaced_key
      where license_id = l.id and replaced_at >= a.activated_at) as replaced) k
    where a.ended_at is null and a.activated_at <= coalesce($1, 'infinity'::timestamptz)
  ) affected`;

/** Counts the activations that a revocation affects. Heartbeats are not recorded, so these are upper bounds. */
export function affectedBy(dataSource: DataSource, key: KeyLine): Promise<Affected> {
  return queryOne<Affected>(dataSource, COUNT, [signedUntil(key)]);
}

/**
 * The latest time at which a key may have signed: null for the active key, 1970 for a `next` key, which has never signed.
 * SETTLED_MS allows for instances that reload the ring a few seconds after a rotation.
 */
function signedUntil({ state, since }: KeyLine): Date | null {
  if (state === 'active') return null;
  return state === 'next' ? new Date(0) : new Date(Date.parse(since) + SETTLED_MS);
}

/** The counts and the consequences for the clients, as text. */
export function affectedText({ kid, state }: KeyLine, affected: Affected): string {
  const { activations, key_not_recorded: notRecorded } = affected;
  const counts = [
    ['Key', `${kid} (${state})`],
    ['Machines', `${activations} at most hold a token that this key signed`],
    ['Unchanged', `${affected.unchanged} on a license whose key and e-mail address are still the same`],
    ['Rekeyed', `${affected.key_replaced} on a license whose key was replaced since`],
    ['Re-addressed', `${affected.address_changed} on a license whose e-mail address changed since`],
    ['Both', `${affected.key_replaced_and_address_changed} on a license where both happened`],
    ['Not known', `${notRecorded} on a license whose replaced key was not recorded`],
  ];
  return [
    aligned(counts),
    '',
    'After the revocation each of these machines activates again by itself, at its next heartbeat, with the key and the',
    'address that it has stored. It keeps its activation, and the application continues to run.',
    ...(notRecorded > 0
      ? [
          `${notRecorded} may be refused, and stop 7 days after their last heartbeat: ask their holders to enter their new license key before the revocation.`,
        ]
      : []),
    'Nothing is changed: this was a dry run.',
  ].join('\n');
}
