import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Batch } from '../database/batch.js';
import { poolOf } from '../database/data-source.js';
import { elementsOf, queryPrepared } from '../database/sql.js';
import { LicenseKeys } from '../keys/license-keys.js';
import type { ActivateRequest } from './activation.dto.js';
import type { ActivationAttempt } from './activation-attempt.js';

// Each query below adds the join of `a`, the active activation of the machine. `revision` identifies the versions of the
// two rows, so each write to the license or its purchase changes it. It is not the revision of docs/glossary.md.
const SELECT_ATTEMPT = `
  select l.id as license_id, l.machines_allowed, l.expires_at, l.on_expiry, l.staff_status, p.state as purchase_state,
         a.id as activation_id, a.activated_at, a.hostname_hint, concat(l.xmin, ' ', p.xmin) as revision
  from license l
  left join purchase p on p.id = l.purchase_id`;

// Adds `machines_in_use` to the found attempts. It is counted once for each license, because the machines of a large license may
// all activate again in the same second. For a machine without an active activation it may be null: `activate_machine` counts then.
const countMachines = (found: string) => `
  with attempt as materialized (${found}), in_use as (
    select license_id, (select count(*)::int from activation where license_id = l.license_id and ended_at is null) as machines_in_use
    from (select distinct license_id from attempt where activation_id is not null) l)
  select * from attempt left join in_use using (license_id)`;

// Finds the licenses of several requests, each by the hash of its key ($1) and its e-mail ($2), and the activation of its machine
// ($3), if it has one. With `limit 1` PostgreSQL finds each license by the index, also if its plan was made for an empty table.
export const FIND_BY_KEY = {
  name: 'find activation',
  text: countMachines(`
  select given.position::int, attempt.*
  from unnest(${elementsOf('$1::bytea[]')}, ${elementsOf('$2::text[]')}, ${elementsOf('$3::bytea[]')})
    with ordinality as given (key_hash, email, machine_id, position)
  cross join lateral (${SELECT_ATTEMPT}
    left join activation a on a.license_id = l.id and a.machine_id = given.machine_id and a.ended_at is null
    where l.key_hash = given.key_hash and l.email = given.email limit 1) as attempt`),
};

// Finds the license of an active machine that still sends the key and e-mail with which it was activated, although the
// license has another key or e-mail since, or lost its e-mail in a restore (docs/decisions/0028). A former e-mail is
// not stored, so after such a change the query accepts any e-mail. PostgreSQL finds the machine first (by
// `activation_active_machine`), so that for a machine without an activation an unknown key and a wrong e-mail take the
// same time.
const FIND_BY_MACHINE = {
  name: 'find activation by machine',
  text: countMachines(`${SELECT_ATTEMPT}
  join activation a on a.license_id = l.id and a.machine_id = $3 and a.ended_at is null
  where (l.email is not null or l.address_lost_at is not null)
    and (l.email = $2 or l.email_since >= a.activated_at or l.address_lost_at is not null)
    and (l.key_hash = $1 or exists (select 1 from replaced_key
           where license_id = l.id and key_hash = $1 and replaced_at >= a.activated_at))`),
};

/** An attempt, with the versions of the rows of the license and its purchase at the time of the read. */
export type FoundAttempt = ActivationAttempt & { readonly revision: string };

type HashedCredentials = readonly [keyHash: Buffer, email: string, machineId: Buffer];

/**
 * Reads what activation requests need. Requests that arrive within a few milliseconds share the statement that finds licenses by
 * key. A request without a result sends a second statement of its own, because the machine may send a former key or e-mail.
 */
@Injectable()
export class AttemptReads {
  readonly #byKey = new Batch<HashedCredentials, FoundAttempt | undefined>((given) => this.readByKey(given));

  constructor(
    private readonly dataSource: DataSource,
    private readonly keys: LicenseKeys,
  ) {}

  /** Finds the license of a request, and the activation of its machine. @returns undefined without such a license */
  async find({ license_key, email, machine_id }: ActivateRequest): Promise<FoundAttempt | undefined> {
    const credentials = [this.keys.hash(license_key), email, machine_id] as const;
    return (await this.#byKey.add(credentials)) ?? this.findByMachine(credentials);
  }

  private async readByKey(given: readonly HashedCredentials[]): Promise<(FoundAttempt | undefined)[]> {
    const values = ([0, 1, 2] as const).map((column) => given.map((credentials) => credentials[column]));
    const rows = await queryPrepared<FoundAttempt & { position: number }>(poolOf(this.dataSource), {
      ...FIND_BY_KEY,
      values,
    });
    const byPosition = new Map(rows.map(({ position, ...attempt }) => [position, attempt]));
    return given.map((_credentials, index) => byPosition.get(index + 1));
  }

  private async findByMachine(values: HashedCredentials): Promise<FoundAttempt | undefined> {
    const statement = { ...FIND_BY_MACHINE, values: [...values] };
    return (await queryPrepared<FoundAttempt>(poolOf(this.dataSource), statement))[0];
  }
}
