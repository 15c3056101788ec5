import type { DataSource } from 'typeorm';
import { queryOne } from '../../database/sql.js';
import type { KeySummary } from '../../keys/tokens/ring-file.js';
import { RING_PROPAGATION_MS } from '../../keys/tokens/rotation.js';
import { aligned } from '../terminal/output.js';

/**
 * Counts of the active activations whose client may have a token that a key signed. The counts after `activations` are parts of it
 * and add up to it.
 */
interface AffectedCounts {
  readonly activations: number;
  /** The license still has the license key and the e-mail address that the machine activated with. */
  readonly unchanged: number;
  /** Only the license key was replaced after the activation. */
  readonly key_replaced: number;
  /** Only the e-mail address of the license changed after the activation, or is unknown since a restore. */
  readonly address_changed: number;
  readonly key_replaced_and_address_changed: number;
  /** The license key was replaced by an earlier version of Mooring, which did not record replaced keys. */
  readonly key_not_recorded: number;
}

// The key and the address are compared as in FIND_BY_MACHINE (src/activation/attempt-reads.ts), which finds the activation when
// these clients activate again.
const COUNT = `
  select count(*)::int as activations,
         count(*) filter (where change = 'unchanged')::int as unchanged,
         count(*) filter (where change = 'key')::int as key_replaced,
         count(*) filter (where change = 'address')::int as address_changed,
         count(*) filter (where change = 'both')::int as key_replaced_and_address_changed,
         count(*) filter (where change = 'not recorded')::int as key_not_recorded
  from (
    select case when l.key_generation - 1 > (select count(*) from replaced_key where license_id = l.id) then 'not recorded'
                when c.key_replaced and c.address_changed then 'both'
                when c.key_replaced then 'key'
                when c.address_changed then 'address'
                else 'unchanged' end as change
    from activation a join license l on l.id = a.license_id
    cross join lateral (select
      exists (select 1 from replaced_key where license_id = l.id and replaced_at >= a.activated_at) as key_replaced,
      l.email_since >= a.activated_at or l.address_lost_at is not null as address_changed) c
    where a.ended_at is null and a.activated_at <= coalesce($1, 'infinity'::timestamptz)
  ) affected`;

/**
 * Counts the activations that a revocation affects. The counts are upper bounds: heartbeats are not recorded, so it is unknown
 * which key signed the token of a client.
 */
export function countAffected(dataSource: DataSource, key: KeySummary): Promise<AffectedCounts> {
  return queryOne<AffectedCounts>(dataSource, COUNT, [latestSigningTime(key)]);
}

/**
 * Returns the latest time at which a key may have signed a token: null for the active key, which still signs, and 1970 for a `next`
 * key, which has never signed. RING_PROPAGATION_MS is added, because instances reload the ring a few seconds after a rotation.
 */
function latestSigningTime({ state, since }: KeySummary): Date | null {
  if (state === 'active') return null;
  return state === 'next' ? new Date(0) : new Date(Date.parse(since) + RING_PROPAGATION_MS);
}

/** Renders the counts, and the consequences of a revocation for the clients, as text. */
export function affectedText({ kid, state }: KeySummary, affected: AffectedCounts): string {
  const { activations, key_not_recorded: notRecorded } = affected;
  const counts = [
    ['Key', `${kid} (${state})`],
    ['Machines', `at most ${activations} have a token that this key signed`],
    [
      'Unchanged',
      `${affected.unchanged} on a license whose key and e-mail address did not change after the activation`,
    ],
    ['Key replaced', `${affected.key_replaced} on a license whose key was replaced after the activation`],
    [
      'Address changed',
      `${affected.address_changed} on a license whose e-mail address changed after the activation`,
    ],
    [
      'Both changed',
      `${affected.key_replaced_and_address_changed} on a license whose key and e-mail address both changed`,
    ],
    ['Key not recorded', `${notRecorded} on a license whose replaced key was not recorded`],
  ];
  const machines =
    notRecorded > 0
      ? "Except the machines in the row 'Key not recorded', each machine"
      : 'Each of these machines';
  return [
    aligned(counts),
    '',
    `${machines} activates again by itself after the revocation,`,
    'at its next heartbeat, with the key and the address that it has stored. It keeps its activation, and the application',
    'continues to run.',
    ...(notRecorded > 0
      ? [
          'A machine in that row may be refused, and then stops 7 days after its last heartbeat: ask its holder to enter the new license key before the revocation.',
        ]
      : []),
    'Nothing is changed: this was a dry run.',
  ].join('\n');
}
