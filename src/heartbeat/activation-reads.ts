import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Batch } from '../database/batch.js';
import { poolOf } from '../database/data-source.js';
import { anyOf, queryPrepared } from '../database/sql.js';
import { MACHINE_DIGEST_BYTES, MACHINE_DOMAIN_SEPARATOR } from '../keys/tokens/license-token.js';
import type { LicenseState } from '../licenses/license.rules.js';

/** What decides whether a heartbeat is confirmed: the state of its activation and of the license. */
export interface ActivationState extends LicenseState {
  readonly activation_id: string;
  readonly license_id: string;
  readonly ended_at: Date | null;
}

/** Reads `ActivationState` by activation ids ($1). An id without a row gives no row. */
export const READ_ACTIVATIONS = `
  select a.id as activation_id, a.license_id, a.ended_at,
         l.expires_at, l.on_expiry, l.staff_status, p.state as purchase_state
  from activation a
  join license l on l.id = a.license_id
  left join purchase p on p.id = l.purchase_id
  where a.id = ${anyOf('$1::uuid[]')}`;

/** Reads activations for heartbeats. Heartbeats that arrive within a few milliseconds share one statement. */
@Injectable()
export class ActivationReads {
  readonly #reads = new Batch<string, ActivationState | undefined>((ids) => this.read(ids));
  /** A histogram of the number of ids in a statement. */
  readonly batchSizes = this.#reads.sizes;

  constructor(private readonly dataSource: DataSource) {}

  /** Reads an activation. @param id from a verified token @returns undefined if no activation has this id */
  find(id: string): Promise<ActivationState | undefined> {
    return this.#reads.add(id);
  }

  /**
   * Whether this machine has an active activation of the license. Only a heartbeat that would be refused with
   * `binding_released` asks this, so the query is not batched.
   * @param mch the machine digest of a verified token
   */
  async hasActive(license_id: string, mch: string): Promise<boolean> {
    const rows = await queryPrepared<unknown>(poolOf(this.dataSource), {
      name: 'find active machine',
      // PostgreSQL computes the digests: a license may have 100,000 machines, and hashing them here would delay requests.
      text: `select 1 from activation where license_id = $1 and ended_at is null
               and substring(sha256($2::bytea || machine_id) for ${MACHINE_DIGEST_BYTES}) = $3 limit 1`,
      values: [license_id, MACHINE_DOMAIN_SEPARATOR, Buffer.from(mch, 'base64url')],
    });
    return rows.length > 0;
  }

  private async read(ids: string[]): Promise<(ActivationState | undefined)[]> {
    const rows = await queryPrepared<ActivationState>(poolOf(this.dataSource), {
      name: 'read activations',
      text: READ_ACTIVATIONS,
      values: [ids],
    });
    return orderRowsByIds(ids, rows);
  }
}

/** Returns the row of each id, in the order of the ids; undefined for an id without a row. */
export function orderRowsByIds(ids: string[], rows: ActivationState[]): (ActivationState | undefined)[] {
  const byId = new Map(rows.map((row) => [row.activation_id, row]));
  return ids.map((id) => byId.get(id));
}
