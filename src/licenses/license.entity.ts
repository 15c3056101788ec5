import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { OnExpiry } from '../core/config.js';
import type { StaffStatus } from './license.rules.js';

/** A license. The migrations describe the columns. */
@Entity('license')
export class License {
  @PrimaryColumn('uuid')
  id!: string;

  @Column('bytea')
  key_hash!: Buffer;

  @Column('text')
  key_hint!: string;

  @Column('integer')
  key_generation!: number;

  @Column('text', { nullable: true })
  email!: string | null;

  @Column('timestamptz', { nullable: true })
  email_since!: Date | null;

  @Column('timestamptz', { nullable: true })
  address_lost_at!: Date | null;

  @Column('text')
  staff_status!: StaffStatus;

  @Column('integer')
  machines_allowed!: number;

  @Column('timestamptz', { nullable: true })
  expires_at!: Date | null;

  @Column('text')
  on_expiry!: OnExpiry;

  @Column('uuid', { nullable: true })
  purchase_id!: string | null;

  @Column('timestamptz')
  created_at!: Date;

  /** Time of the refund, revocation or erasure. An expiry does not set it. */
  @Column('timestamptz', { nullable: true })
  ended_at!: Date | null;

  /**
   * Time of the last change of the license's end, which is the earlier of `ended_at` and an expiry that stops it; at first the time
   * of issue or import. Retention counts from it if it is later than the end.
   */
  @Column('timestamptz')
  end_changed_at!: Date;
}
