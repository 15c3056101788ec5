import { EntityManager } from 'typeorm';
import { rfc3339, rfc3339OrNull } from '../core/clock.js';
import type { StaffStatus } from '../licenses/license.rules.js';
import { PURCHASES_OF } from '../erasure/erase.js';
import { sinceCurrentHolder } from '../licenses/former-holder.js';

/** What a license's row holds beside what everyone sees of it. */
export interface LicenseMore {
  readonly staff_status: StaffStatus;
  /** How many keys there have been. */
  readonly key_generation: number;
  readonly ended_at: string | null;
}

/** By license. */
export async function licensesMore(
  manager: EntityManager,
  licenseIds: readonly string[],
): Promise<Map<string, LicenseMore>> {
  const rows = (await manager.query(
    'select id, staff_status, key_generation, ended_at from license where id = any($1)',
    [licenseIds],
  )) as (Omit<LicenseMore, 'ended_at'> & { id: string; ended_at: Date | null })[];
  return new Map(
    rows.map(({ id, ended_at, ...license }) => [id, { ...license, ended_at: rfc3339OrNull(ended_at) }]),
  );
}

/** What a binding's row holds beside what everyone sees of it. */
export interface BindingMore {
  readonly machine_id: string | null;
  readonly released_by_holder: boolean;
  readonly release_requests: ReturnType<typeof requestView>[];
}

interface RequestRow {
  readonly activation_id: string;
  readonly asked_at: Date;
  readonly reason: string | null;
  readonly decided_at: Date | null;
  readonly decision: 'release' | 'decline' | null;
}

/** By binding. The machine id of one that a former holder activated is about that machine, and left out. */
export async function bindingsMore(
  manager: EntityManager,
  licenseIds: readonly string[],
): Promise<Map<string, BindingMore>> {
  const rows = (await manager.query(
    `select a.id, a.released_by_holder,
            case when ${sinceCurrentHolder('a.activated_at')} then encode(a.machine_id, 'hex') end as machine_id
     from activation a join license l on l.id = a.license_id
     where a.license_id = any($1)`,
    [licenseIds],
  )) as { id: string; machine_id: string | null; released_by_holder: boolean }[];
  const requests = (await manager.query(
    `select r.activation_id, r.asked_at, r.reason, r.decided_at, r.decision
     from release_request r join activation a on a.id = r.activation_id join license l on l.id = a.license_id
     where a.license_id = any($1) and ${sinceCurrentHolder('r.asked_at')} order by r.asked_at desc`,
    [licenseIds],
  )) as RequestRow[];
  const byBinding = Map.groupBy(requests, ({ activation_id }) => activation_id);
  return new Map(
    rows.map(({ id, machine_id, released_by_holder }) => [
      id,
      { machine_id, released_by_holder, release_requests: (byBinding.get(id) ?? []).map(requestView) },
    ]),
  );
}

const requestView = ({ asked_at, reason, decided_at, decision }: RequestRow) => ({
  asked_at: rfc3339(asked_at),
  reason,
  decided_at: rfc3339OrNull(decided_at),
  decision,
});

/**
 * What staff did to licenses since they came to their e-mail address, newest first, by license. Who of them did it is
 * about them, not about the holder; what they did before, and why, is about a former holder.
 */
export async function histories(manager: EntityManager, licenseIds: readonly string[]) {
  const rows = (await manager.query(
    `select e.license_id, e.at, e.action, e.reason, e.change
     from audit_event e join license l on l.id = e.license_id
     where e.license_id = any($1) and ${sinceCurrentHolder('e.at')} order by e.at desc, e.id desc`,
    [licenseIds],
  )) as { license_id: string; at: Date; action: string; reason: string | null; change: object }[];
  return Map.groupBy(rows, ({ license_id }) => license_id);
}

/** Purchases of an address, newest first. Who bought a license that has another address by now is told to nobody else. */
export async function purchases(manager: EntityManager, email: string) {
  return (await manager.query(
    `select p.transaction_id, case when p.email = $1 then p.email end as email, p.state, p.paid, p.recorded_on::text, l.id as license_id
     from purchase p left join license l on l.purchase_id = p.id
     where p.id in (${PURCHASES_OF}) order by p.recorded_on desc, p.id desc`,
    [email],
  )) as {
    transaction_id: string;
    email: string | null;
    state: string;
    paid: boolean;
    recorded_on: string;
    license_id: string | null;
  }[];
}

interface Span {
  readonly created_at: Date;
  readonly expires_at: Date;
}

/** Who is signed in, the codes to sign in with that still work, and the mails that wait: never what any of them is. */
export async function signIns(
  manager: EntityManager,
  email: string,
  licenseIds: readonly string[],
  now: Date,
) {
  const sessions = (await manager.query(
    `select license_id, created_at, expires_at from session
     where (email = $1 or license_id = any($2)) and expires_at > $3 order by created_at desc`,
    [email, licenseIds, now],
  )) as (Span & { license_id: string | null })[];
  const codes = (await manager.query(
    `select tries, created_at, expires_at from one_time_code
     where email = $1 and expires_at > $2 order by created_at desc`,
    [email, now],
  )) as (Span & { tries: number })[];
  const mails = (await manager.query('select since from mail_recipient where email = $1 order by since', [
    email,
  ])) as { since: Date }[];
  return {
    sessions: sessions.map(({ license_id, ...span }) => ({ license_id, ...spanView(span) })),
    sign_in_codes: codes.map(({ tries, ...span }) => ({ tries, ...spanView(span) })),
    mails_waiting: mails.map(({ since }) => ({ since: rfc3339(since) })),
  };
}

const spanView = ({ created_at, expires_at }: Span) => ({
  created_at: rfc3339(created_at),
  expires_at: rfc3339(expires_at),
});
