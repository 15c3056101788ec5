// Generated from docs/openapi.yaml by `npm run docs:api-types`; a test keeps it current.

export interface Activation {
  readonly id: string;
  readonly hostname_hint: string | null;
  readonly app_version: string;
  readonly activated_at: string;
  readonly state: 'active' | 'released' | 'refunded';
  readonly ended_at: string | null;
  /** Null while the activation is active. */
  readonly ended_reason: 'released' | 'refunded' | null;
}

export interface AuditAnswer {
  readonly events: readonly AuditEvent[];
  /** The `cursor` of the next, older entries; null if there are none. */
  readonly next_cursor: null | string;
}

export interface AuditEvent {
  readonly id: string;
  readonly at: string;
  /** The e-mail address of a staff member, the name given to a command with `--as`, `cli`, `retention` or `npm start`. */
  readonly actor: string;
  readonly action: string;
  readonly license_id: null | string;
  /** The last two symbols of the license key; null if the entry has no license, or the license was deleted. */
  readonly key_hint: string | null;
  /** The label of the machine; null if the entry has no machine, or no label is stored for it. The entry itself contains the id of the activation. */
  readonly hostname_hint: string | null;
  /** The staff member whom the action changed; null if there is none, or the person was removed. */
  readonly staff_email: string | null;
  readonly reason: string | null;
  /** Ids, new values, and in `before` the values that a change replaced. */
  readonly change: unknown;
}

export interface AuditFiltersAnswer {
  readonly actors: readonly {
    /** The value of `actor_id` that selects the events of this actor. */
    readonly id: string;
    readonly actor: string;
  }[];
  readonly actions: readonly string[];
}

export interface Brand {
  readonly product_name: string;
  readonly vendor_name: string | null;
  readonly support_contact: Contact | null;
  readonly privacy_contact: Contact | null;
  readonly shop_url: string | null;
  readonly renewal_url: string | null;
  readonly accent: {
    readonly light: string;
    readonly light_strong: string;
    readonly dark: string;
    readonly dark_strong: string;
  } | null;
  /** Whether `/brand/logo` has an image. */
  readonly has_logo: boolean;
}

export interface CodeSent {
  /** The address of the request. With a hint: the address of the license, of which only the first character and the domain are shown, as in `a…@example.com`. */
  readonly sent_to: string;
}

export interface Contact {
  /** For people: an e-mail address, or the URL of a page without its scheme. */
  readonly text: string;
  /** For links: a `mailto:` or a web URL. */
  readonly url: string;
}

export interface CrashGroup {
  readonly crash_sig: string;
  readonly crash_label: string | null;
  readonly crash_frame: string | null;
  /** The lowest version with this crash in any week that is kept. */
  readonly first_version: string | null;
  /** The highest version with this crash in any week that is kept. */
  readonly last_version: string | null;
  readonly state: 'open' | 'resolved' | 'muted';
  /** The version that resolves the crash. An `open` group that has it was reopened, because it crashed in this version or a later one. */
  readonly resolved_in: string | null;
  /** E-mail address of the staff member who resolved or muted the group; null if no state is set, or that person was removed. */
  readonly changed_by: string | null;
  readonly changed_at: string | null;
  /** Identifies the state that staff set, for `if-match`. */
  readonly revision: string;
  readonly weeks: readonly {
    readonly week_end: string;
    readonly crashes: number;
  }[];
}

export interface CrashGroupChangeAnswer {
  readonly crash_group: {
    readonly crash_sig: string;
    readonly state: 'open' | 'resolved' | 'muted';
    readonly resolved_in: string | null;
    readonly changed_by: string | null;
    readonly changed_at: string | null;
    readonly revision: string;
  };
}

export interface CrashGroupListAnswer {
  readonly crash_groups: readonly CrashGroup[];
}

export interface DecisionMails {
  /** The tag of the language of the texts. */
  readonly language: string;
  /** How a mail calls a machine without a label. */
  readonly unnamed_machine: string;
  /** The paragraphs of the mail about a release. `{product}`, `{machine}` and `{reason}` stand for values. */
  readonly release: readonly string[];
  /** The paragraphs of the mail about a declined release request, with the same placeholders. */
  readonly decline: readonly string[];
}

export interface DecisionMailsAnswer {
  /** The tag of the language of `MAIL_LANGUAGE`. */
  readonly language: string;
  readonly mails: readonly DecisionMails[];
}

export interface DiskImage {
  readonly url: string;
  readonly size: number;
  readonly sha256: string;
}

export interface Erased {
  readonly licenses: number;
  readonly activations: number;
  readonly purchases: number;
  /** The last day on which their transaction ids, statuses and days are kept; null without purchases. */
  readonly purchases_kept_until: string | null;
}

export interface Erasure {
  readonly id: string;
  /** Null if the request was carried out or cancelled. */
  readonly email: string | null;
  readonly asked_by: 'holder' | 'staff';
  readonly reason: string | null;
  readonly received_on: string;
  /** The day by whose end the request must have been carried out, 30 days after `received_on`. */
  readonly due_on: string;
  /** The days until `due_on`, negative if the request is overdue; null if it was carried out or cancelled. */
  readonly days_left: number | null;
  readonly runs_at: string;
  /** A request that was carried out is `honoured`, one that was cancelled is `taken_back`. */
  readonly state: 'waiting' | 'honoured' | 'taken_back';
  readonly honoured_at: string | null;
  readonly cancelled_at: string | null;
  readonly erased: Erased | null;
}

export interface ErasureAnswer {
  readonly erasure: Erasure;
}

export interface ErasureListAnswer {
  readonly erasures: readonly Erasure[];
}

export interface EventBacklog {
  /** Whether events are recorded. */
  readonly is_recording: boolean;
  /** Events that were neither delivered nor given up, including failing ones, and events that wait for an earlier one of their license. */
  readonly waiting: number;
  /** Waiting events with a failed attempt. */
  readonly failing: number;
  /** Events of the last 30 days that were given up. */
  readonly given_up: number;
  /** The largest number of failed attempts of a waiting event. */
  readonly attempts: number;
  /** Why the newest failing event is not delivered, or else the newest that was given up; null if there is none. */
  readonly reason: string | null;
  readonly oldest_waiting: string | null;
}

export interface FailingMail {
  readonly kind: string;
  /** The id of its subject, such as a license or an activation. */
  readonly about: string;
  /** Why the last attempt failed, without personal data. */
  readonly reason: string;
  readonly attempts: number;
  readonly waiting_since: string;
  readonly next_attempt_at: string | null;
}

export interface FleetAnswer {
  /** The smallest number of heartbeats in a cell. */
  readonly threshold: 280;
  readonly weeks: readonly FleetWeek[];
  /** When each version became the live one, newest first. A renewed manifest is no publication. */
  readonly publications: readonly Publication[];
}

export interface FleetCell {
  /** Null if the heartbeat had no value. */
  readonly value: string | null;
  readonly heartbeats: number;
}

export type FleetCells = readonly (FleetCell | FleetOther)[];

export interface FleetComputeCell {
  /** The compute target that the user configured. */
  readonly detector_compute: string | null;
  /** What the detector got. */
  readonly detector_compute_units_resolved: string | null;
  readonly heartbeats: number;
}

export interface FleetHardwareCell {
  readonly mac_model: string | null;
  readonly soc_name: string | null;
  readonly heartbeats: number;
}

export interface FleetLatency {
  readonly soc_name: string;
  /** Milliseconds. */
  readonly p50: number;
  /** Milliseconds. */
  readonly p90: number;
  /** Milliseconds. */
  readonly p95: number;
}

export interface FleetOther {
  readonly other: true;
  /** The heartbeats of all values, or pairs of values, that have no cell of their own. */
  readonly heartbeats: number;
}

export interface FleetWeek {
  readonly week_end: string;
  readonly app_version: FleetCells;
  readonly os_version: FleetCells;
  /** Pairs of a Mac model and its chip. The count of a chip is the sum of its pairs. */
  readonly hardware: readonly (FleetHardwareCell | FleetOther)[];
  readonly ram_gb_bucket: FleetCells;
  readonly detector_compute: readonly (FleetComputeCell | FleetOther)[];
  /** Percentiles of `recent_inference_ms`, for each chip in `hardware` with at least 280 heartbeats that reported it. */
  readonly latency: readonly FleetLatency[];
}

export interface HolderActivation {
  readonly id: string;
  readonly hostname_hint: string | null;
  readonly app_version: string;
  readonly activated_at: string;
  readonly state: 'active' | 'released' | 'refunded';
  readonly ended_at: string | null;
  readonly ended_reason: 'released' | 'refunded' | null;
  readonly release_requested_at: string | null;
  /** The last decline of support, with the reason that staff gave; null if there is none. */
  readonly release_declined: null | {
    readonly declined_at: string;
    readonly reason: string | null;
  };
}

export interface HolderLicense {
  readonly id: string;
  readonly key_hint: string;
  readonly status: 'active' | 'suspended' | 'revoked' | 'refunded';
  readonly expires_at: string | null;
  readonly on_expiry: 'keep' | 'stop';
  readonly machines_allowed: number;
  readonly machines_in_use: number;
  /** How many machines the holder may release without support just now. */
  readonly self_releases_left: number;
  /** Whether the key can be mailed. It cannot if the key was imported, if the key secret has changed, or if the license is revoked or refunded. */
  readonly is_key_mailable: boolean;
  readonly activations: readonly HolderActivation[];
}

export interface HolderLicensesAnswer {
  readonly signed_in_by: 'key' | 'code';
  readonly email: string;
  /** The waiting erasure request; null if there is none. */
  readonly erasure: WaitingErasure | null;
  /** The last day on which purchase data is still kept for tax after an erasure. Null without purchases, and in a session by license key. */
  readonly purchases_kept_until: string | null;
  readonly licenses: readonly HolderLicense[];
}

export interface HolderLicensesPage {
  readonly email: string;
  /** How many licenses the holder has with each status. */
  readonly counts: {
    readonly active: number;
    readonly suspended: number;
    readonly revoked: number;
    readonly refunded: number;
  };
  readonly licenses: readonly LicenseLine[];
  /** For the next page; null on the last one. */
  readonly next_cursor: string | null;
}

export interface IssuedLicenseAnswer {
  readonly license: LicenseView;
  readonly license_key: string;
}

export interface JobCounts {
  /** The name of the task; `other` for the tasks of other versions. */
  readonly task: string;
  /** Jobs that have attempts left, including failing ones. */
  readonly waiting: number;
  /** Jobs that have been due for five minutes and that no instance runs; mails of an import only while no instance runs any job. */
  readonly late: number;
  /** Jobs with a failed attempt, including those after their last attempt. */
  readonly failing: number;
}

export interface Languages {
  readonly languages: readonly {
    /** A language tag (BCP 47), such as `de` or `pt-BR`. */
    readonly tag: string;
    /** Changes with the texts. */
    readonly version: string;
  }[];
  /** The language of `texts`; only with `page`. */
  readonly tag?: string;
  readonly texts?: Texts;
}

export interface LicenseDetail {
  readonly id: string;
  readonly key_hint: string;
  readonly previous_key_hint: string | null;
  readonly email: string | null;
  readonly is_address_lost: boolean;
  readonly status: 'active' | 'suspended' | 'revoked' | 'refunded';
  readonly expires_at: string | null;
  readonly on_expiry: 'keep' | 'stop';
  readonly machines_allowed: number;
  readonly machines_in_use: number;
  readonly created_at: string;
  readonly activations: readonly Activation[];
  readonly is_key_mailable: boolean;
  /** The status that staff set; `status` also takes the purchase into account. */
  readonly staff_status: 'active' | 'suspended' | 'revoked';
  /** Identifies the values that staff can change, for `if-match`. */
  readonly revision: string;
  readonly purchase: null | Purchase;
  readonly release_requests: readonly ReleaseRequestLine[];
  readonly history: readonly AuditEvent[];
}

export interface LicenseDetailAnswer {
  readonly license: LicenseDetail;
}

export interface LicenseLine {
  readonly id: string;
  readonly key_hint: string;
  readonly previous_key_hint: string | null;
  readonly email: string | null;
  readonly is_address_lost: boolean;
  readonly status: 'active' | 'suspended' | 'revoked' | 'refunded';
  readonly expires_at: string | null;
  readonly on_expiry: 'keep' | 'stop';
  readonly machines_allowed: number;
  readonly machines_in_use: number;
  readonly created_at: string;
}

export interface LicenseSearchAnswer {
  readonly licenses: readonly LicenseView[];
}

export interface LicenseView {
  readonly id: string;
  /** The last two symbols of the key. */
  readonly key_hint: string;
  /** The last four characters of the key that another system issued before the license was imported; null without one. */
  readonly previous_key_hint: string | null;
  /** Null if the holder was erased, or if a restore lost the address. */
  readonly email: string | null;
  /** Whether a restore lost the address. The license stays valid, but activates no further machine until staff set its `email` again. */
  readonly is_address_lost: boolean;
  readonly status: 'active' | 'suspended' | 'revoked' | 'refunded';
  readonly expires_at: string | null;
  readonly on_expiry: 'keep' | 'stop';
  readonly machines_allowed: number;
  readonly machines_in_use: number;
  readonly created_at: string;
  readonly activations: readonly Activation[];
}

export interface LiveManifestLine {
  readonly sequence: number;
  readonly version: string;
  readonly expires_at: string;
  /** Whole days until it expires; negative if it has expired. */
  readonly days_left: number;
}

export interface ManifestContent {
  readonly _type: 'update-manifest/v1';
  readonly product: string;
  readonly sequence: number;
  readonly issued_at: string;
  readonly expires_at: string;
  readonly version: string;
  readonly dmg: DiskImage;
  readonly minimum_license_expiry: string | null;
  /** Older versions for licenses that do not cover this one. For each lower minimum license expiry the newest version, newest first. */
  readonly also_available: readonly {
    readonly version: string;
    readonly dmg: DiskImage;
    readonly minimum_license_expiry: string | null;
  }[];
  /** SHA-256 of `signed` in the previous manifest; null in the first manifest. */
  readonly previous: string | null;
}

export interface ManifestListAnswer {
  readonly live: null | LiveManifestLine;
  readonly manifests: readonly PublishedManifest[];
}

export type Messages = Readonly<Record<string, unknown>>;

export interface Passkey {
  readonly id: string;
  readonly created_at: string;
  readonly transports: readonly string[];
  /** Null until its owner names it. */
  readonly name: string | null;
  /** The day (UTC) of the last sign-in with it; null before the first one. The time is not stored. */
  readonly last_used_on: string | null;
}

export interface PasskeyAnswer {
  readonly passkey: Passkey;
}

export interface PasskeyListAnswer {
  readonly passkeys: readonly Passkey[];
}

export interface PrivacyData {
  readonly tables: readonly {
    readonly name: string;
    readonly what: string;
    /** For how long and from when, or why no retention rule deletes the rows. Null for a table that does not belong to the service. */
    readonly kept: string | null;
    /** Whether a retention rule deletes the rows. Otherwise they are kept, moved to another table, removed by people, or deleted together with the rows that they belong to. */
    readonly leaves: boolean;
    readonly oldest: string | null;
    readonly last_deleted: {
      readonly on: string;
      readonly rows: number;
    } | null;
    readonly columns: readonly {
      readonly name: string;
      readonly what: string;
    }[];
  }[];
  readonly last_run: {
    readonly as_of: string;
    readonly finished_at: string | null;
  } | null;
  /** The texts of `what` and `kept` that are in English because they have no translation into `language`. Empty for English. */
  readonly untranslated: readonly string[];
}

export interface Publication {
  readonly version: string;
  readonly published_at: string;
  /** Whether the version is lower than the one before it, which was withdrawn. */
  readonly withdrawal: boolean;
}

export interface PublicationAnswer {
  /** The manifest that was live before the request; null if none was. With `dry_run` it stays live. */
  readonly live: null | ManifestContent;
  readonly next: ManifestContent;
}

export interface PublishedManifest {
  readonly sequence: number;
  readonly version: string;
  readonly published_at: string;
  readonly expires_at: string;
  readonly minimum_license_expiry: string | null;
  /** Whether it withdrew the version of the manifest before it. */
  readonly withdrawal: boolean;
}

export interface Purchase {
  readonly transaction_id: string;
  readonly state: 'paid' | 'disputed' | 'dispute_won' | 'refunded';
  readonly recorded_on: string;
}

export interface ReleaseAnswer {
  readonly activation: Activation;
  /** Whether this request released the machine; false if the activation had ended before. */
  readonly was_active: boolean;
}

export interface ReleaseDecision {
  readonly id: string;
  readonly decision: 'release' | 'decline';
  readonly decided_at: string;
}

export interface ReleaseDecisionAnswer {
  readonly release_request: ReleaseDecision;
  /** Whether this request to the service made the decision; false if it had been made before. */
  readonly was_open: boolean;
}

export interface ReleaseQueueAnswer {
  readonly release_requests: readonly WaitingReleaseRequest[];
}

export interface ReleaseRequestLine {
  readonly id: string;
  readonly activation_id: string;
  readonly reason: string | null;
  readonly language: string | null;
  readonly asked_at: string;
  readonly decision: 'release' | 'decline' | null;
  readonly decided_at: string | null;
}

export interface RetentionListAnswer {
  readonly runs: readonly RetentionRun[];
}

export interface RetentionRun {
  readonly id: string;
  readonly as_of: string;
  readonly started_at: string;
  readonly finished_at: string | null;
  /** The number of deleted rows by table. */
  readonly deleted: Readonly<Record<string, number>>;
  /** A sentence that names the tables where the run failed. */
  readonly error?: string;
}

export interface ServiceStatusAnswer {
  /** One sentence each. */
  readonly warnings: readonly string[];
  readonly mail: WaitingMail;
  readonly events: EventBacklog;
  /** The unfinished jobs of each task. */
  readonly jobs: readonly JobCounts[];
}

export interface StaffAnswer {
  readonly staff: StaffMember;
}

export interface StaffListAnswer {
  readonly staff: readonly StaffMember[];
}

export interface StaffMember {
  readonly id: string;
  readonly email: string;
  readonly role: 'support' | 'admin';
  readonly created_at: string;
  readonly passkeys: number;
}

export interface StaffSessionAnswer {
  readonly id: string;
  readonly email: string;
  readonly role: 'support' | 'admin';
  readonly has_passkey: boolean;
}

export interface StaffToken {
  readonly id: string;
  readonly email: string;
  readonly role: 'support' | 'admin';
  readonly created_at: string;
  readonly expires_at: string;
}

export interface Texts {
  readonly shared: Messages;
  readonly portal?: Messages;
  readonly privacy?: Messages;
}

export interface TokenListAnswer {
  readonly tokens: readonly StaffToken[];
}

export interface WaitingErasure {
  readonly id: string;
  readonly received_on: string;
  readonly runs_at: string;
}

export interface WaitingMail {
  /** Mails that have attempts left, including failing ones. */
  readonly waiting: number;
  /** Waiting mails without a failed attempt. */
  readonly untried: number;
  /** Mails other than sign-in codes that have been due for five minutes and that no instance is sending. The mails of an import count only while no instance runs any job. */
  readonly late: number;
  /** Mails with a failed attempt, including those after their last attempt. */
  readonly failed: number;
  /** The mails with a failed attempt, oldest first, and sign-in codes last. */
  readonly failing: readonly FailingMail[];
}

export interface WaitingReleaseRequest {
  readonly id: string;
  readonly asked_at: string;
  readonly reason: string | null;
  readonly language: string | null;
  readonly license: {
    readonly id: string;
    readonly key_hint: string;
    readonly email: string | null;
    readonly machines_allowed: number;
    readonly machines_in_use: number;
  };
  readonly activation: Activation;
}
