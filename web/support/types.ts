/** What the staff API answers (contract, section 4), under its own names. */

export type Role = 'support' | 'admin';

export interface Session {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly has_passkey: boolean;
}

export interface Passkey {
  readonly id: string;
  readonly created_at: string;
  readonly transports: readonly string[];
}

export interface Activation {
  readonly id: string;
  readonly hostname_hint: string | null;
  readonly app_version: string;
  readonly activated_at: string;
  readonly state: 'active' | 'released' | 'refunded';
  readonly ended_at: string | null;
}

export type StaffStatus = 'active' | 'suspended' | 'revoked';
export type OnExpiry = 'keep' | 'stop';

export interface License {
  readonly id: string;
  readonly key_hint: string;
  /** Null once its holder was erased, or where a restore lost it. */
  readonly email: string | null;
  readonly is_address_lost: boolean;
  readonly status: StaffStatus | 'refunded';
  readonly expires_at: string | null;
  readonly on_expiry: OnExpiry;
  readonly machines_allowed: number;
  readonly machines_in_use: number;
  readonly created_at: string;
  readonly activations: readonly Activation[];
}

export interface LicenseDetail extends License {
  /** What staff say of it; `status` is what its purchase says as well. */
  readonly staff_status: StaffStatus;
  readonly purchase: {
    readonly transaction_id: string;
    readonly state: 'paid' | 'disputed' | 'dispute_won' | 'refunded';
    readonly recorded_on: string;
  } | null;
  readonly release_requests: readonly ReleaseRequest[];
  readonly history: readonly AuditEvent[];
}

export type Decision = 'release' | 'decline';

export interface ReleaseRequest {
  readonly id: string;
  readonly activation_id: string;
  readonly reason: string | null;
  readonly asked_at: string;
  readonly decision: Decision | null;
  readonly decided_at: string | null;
}

/** A release request in the queue. */
export interface WaitingRequest {
  readonly id: string;
  readonly asked_at: string;
  readonly reason: string | null;
  readonly license: Pick<License, 'id' | 'key_hint' | 'email' | 'machines_allowed' | 'machines_in_use'>;
  readonly activation: Activation;
}

export interface AuditEvent {
  readonly id: string;
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly license_id: string | null;
  readonly reason: string | null;
  readonly change: Readonly<Record<string, unknown>>;
}

export interface Erasure {
  readonly id: string;
  readonly email: string | null;
  readonly asked_by: 'holder' | 'staff';
  readonly reason: string | null;
  readonly received_on: string;
  readonly due_on: string;
  readonly runs_at: string;
  readonly state: 'waiting' | 'honoured' | 'taken_back';
  /** Below 0 it is overdue; null once it has ended. */
  readonly days_left: number | null;
  readonly honoured_at: string | null;
  readonly cancelled_at: string | null;
}

export interface StaffMember {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly created_at: string;
  readonly passkeys: number;
}

export interface Token {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly created_at: string;
  readonly expires_at: string;
}

export interface Manifests {
  readonly live: {
    readonly sequence: number;
    readonly version: string;
    readonly expires_at: string;
    readonly days_left: number;
  } | null;
  readonly manifests: readonly Manifest[];
}

export interface Manifest {
  readonly sequence: number;
  readonly version: string;
  readonly published_at: string;
  readonly expires_at: string;
  readonly minimum_license_expiry: string | null;
  readonly withdrawal: boolean;
}

export interface RetentionRun {
  readonly id: string;
  readonly as_of: string;
  readonly started_at: string;
  readonly finished_at: string | null;
  readonly deleted: Readonly<Record<string, number>>;
  readonly error?: string | null;
}
