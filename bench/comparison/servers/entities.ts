import { Column, Entity, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { OnExpiry } from '../../../src/core/config.js';
import { TELEMETRY_FIELDS, TELEMETRY_NAMES } from '../../../src/telemetry/telemetry.fields.js';
import type { PurchaseState, StaffStatus } from '../../../src/licenses/license.rules.js';

// The tables of the service as entities with relations, as in TypeORM's guide.

@Entity('purchase')
export class Purchase {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') state!: PurchaseState;
}

@Entity('license')
export class License {
  @PrimaryColumn('uuid') id!: string;
  @Column('bytea') key_hash!: Buffer;
  @Column('text') key_hint!: string;
  @Column('text') email!: string;
  @Column('text') staff_status!: StaffStatus;
  @Column('integer') machines_allowed!: number;
  @Column('timestamptz', { nullable: true }) expires_at!: Date | null;
  @Column('text') on_expiry!: OnExpiry;
  @ManyToOne(() => Purchase) @JoinColumn({ name: 'purchase_id' }) purchase!: Purchase | null;
}

@Entity('activation')
export class Activation {
  @PrimaryColumn('uuid') id!: string;
  @ManyToOne(() => License) @JoinColumn({ name: 'license_id' }) license!: License;
  @Column('bytea') machine_id!: Buffer;
  @Column('text', { nullable: true }) hostname_hint!: string | null;
  @Column('text') app_version!: string;
  @Column('timestamptz') activated_at!: Date;
  @Column('timestamptz', { nullable: true }) ended_at!: Date | null;
  @Column('text', { nullable: true }) ended_reason!: 'released' | 'refunded' | null;
  @Column('boolean') released_by_holder!: boolean;
}

@Entity('session')
export class Session {
  @PrimaryColumn('uuid') id!: string;
  @Column('bytea') token_hash!: Buffer;
  @Column('timestamptz') created_at!: Date;
  @Column('timestamptz') expires_at!: Date;
  @ManyToOne(() => License) @JoinColumn({ name: 'license_id' }) license!: License;
}

@Entity('erasure_request')
export class ErasureRequest {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') email!: string;
  @Column('date') received_on!: string;
  @Column('timestamptz') runs_at!: Date;
}

@Entity('release_request')
export class ReleaseRequest {
  @PrimaryColumn('uuid') id!: string;
  @ManyToOne(() => Activation) @JoinColumn({ name: 'activation_id' }) activation!: Activation;
  @Column('timestamptz') asked_at!: Date;
  @Column('timestamptz', { nullable: true }) decided_at!: Date | null;
  @Column('text', { nullable: true }) decision!: 'release' | 'decline' | null;
}

@Entity('audit_event')
export class AuditEvent {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid', { nullable: true }) license_id!: string | null;
  @Column('text') action!: string;
  @Column('jsonb') change!: Record<string, unknown>;
  @Column('text', { nullable: true }) reason!: string | null;
}

@Entity('manifest')
export class Manifest {
  @PrimaryColumn('bigint') sequence!: string;
  @Column('text') signed!: string;
}

@Entity('telemetry_inbox')
export class Telemetry {
  @PrimaryColumn('uuid') id!: string;
  @Column('date') received_on!: string;
}
// The other columns are the telemetry fields.
for (const name of TELEMETRY_NAMES)
  Column(TELEMETRY_FIELDS[name].type, { nullable: true })(Telemetry.prototype, name);

export const ENTITIES = [
  Purchase,
  License,
  Activation,
  Session,
  ErasureRequest,
  ReleaseRequest,
  AuditEvent,
  Manifest,
  Telemetry,
];
