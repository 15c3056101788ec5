import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Clock, DAY_MS, rfc3339, utcDay } from '../../core/clock.js';
import { Config } from '../../core/config.js';
import { AppLogger } from '../../core/logger.js';
import { applicableTexts } from '../../core/text.js';
import { DatabaseHosts } from '../../database/database-hosts.js';
import { hostWarnings } from '../../database/host-warnings.js';
import { REQUEST_TIMEOUTS_MS } from '../../database/request-timeouts.js';
import { queryOne } from '../../database/sql.js';
import { isTemporaryDatabaseError } from '../../database/temporary-errors.js';
import { TimeoutError, withTimeout } from '../../database/timeout.js';
import { Replica } from '../../heartbeat/replica.js';
import { KeyRing } from '../../keys/tokens/key-ring.js';
import { SharedResult } from './shared-result.js';
import { createRetentionPolicy, type RetentionRule } from '../../retention/policy.js';
import { formatPeriod } from '../privacy/privacy-data.js';
import { lastRetentionOrCreation, readDataAges, type DataAges } from './data-age.js';
import { readErasureState, TombstoneReader, type ErasureState } from '../../erasure/erasure-state.js';
import { readEventBacklog } from '../../events/event-backlog.js';
import type { EventBacklog, WaitingMail } from '../../http/responses/api-types.js';
import { CODE_MAIL, readWaitingMail } from '../../mail/waiting-mail.js';
import { LicenseKeys } from '../../keys/license-keys.js';
import { checkKeySettings, type KeySettings } from '../../licenses/license-key-secret.js';
import { findManifestContradictions } from '../../manifest/manifest-settings.js';
import { ManifestService } from '../../manifest/manifest.service.js';

/**
 * A mail is reported as undelivered after this many attempts: servers often ask for a retry once or twice. All failing events are
 * reported once one of them has had this many.
 */
const MIN_REPORTED_ATTEMPTS = 3;
/** The warning that the live manifest expires begins this many days before (docs/keys.md#publishing). */
const MANIFEST_WARNING_DAYS = 14;

/** What the warnings are derived from. */
export interface MonitoredState {
  readonly ages: DataAges;
  readonly mail: WaitingMail;
  readonly erasures: ErasureState;
  readonly events: EventBacklog;
  /** The sentence that LICENSE_KEY_SECRET or LICENSE_KEY_PREFIX differs from that of the database; undefined if there is none. */
  readonly key_settings_fault: string | undefined;
  /** Whether the database accepts no writes, such as a standby. */
  readonly is_read_only: boolean;
}

/**
 * The warnings of `/health/ready`, `mooring status`, the support page and the metrics. The file is long, because it has the
 * sentences of most warnings. Those about database hosts, key settings and manifest settings are in other files.
 */
@Injectable()
export class WarningsService implements OnModuleInit {
  readonly #sharedState = new SharedResult(
    () => this.readState(),
    () => this.clock.monotonic(),
  );
  readonly #policy: readonly RetentionRule[];
  readonly #tombstones: TombstoneReader;

  constructor(
    private readonly dataSource: DataSource,
    private readonly manifests: ManifestService,
    @Inject(KeyRing) private readonly ring: Pick<KeyRing, 'lastError'>,
    @Inject(Replica) private readonly replica: Pick<Replica, 'isDegraded'>,
    @Inject(LicenseKeys) private readonly licenseKeys: KeySettings | null,
    private readonly clock: Clock,
    private readonly config: Config,
    @Inject(AppLogger) private readonly log: Pick<AppLogger, 'failed'>,
  ) {
    this.#policy = createRetentionPolicy(config);
    this.#tombstones = new TombstoneReader(config.tombstoneFile);
  }

  /** Reads the state while other modules start, so that the first probe does not wait for queries on a new connection. */
  onModuleInit(): void {
    void this.#sharedState.get();
  }

  /**
   * The parts are read one after the other, so that a probe uses at most two connections (in `readWaitingMail`) and waits for only
   * one timeout in an outage.
   */
  async readState(): Promise<MonitoredState> {
    const now = this.clock.now();
    const ages = await readDataAges(this.dataSource, this.#policy, now);
    const mail = await readWaitingMail(this.dataSource);
    const erasures = await readErasureState(this.dataSource, this.#tombstones, now);
    const events = await readEventBacklog(this.dataSource);
    const keys = this.licenseKeys;
    const key_settings_fault =
      keys === null ? undefined : (await checkKeySettings(this.dataSource, keys, this.config)).fault;
    const { is_read_only } = await queryOne<{ is_read_only: boolean }>(
      this.dataSource,
      `select current_setting('transaction_read_only')::boolean as is_read_only`,
    );
    return { ages, mail, erasures, events, key_settings_fault, is_read_only };
  }

  /** The warnings, without personal data, within a second. Calls of this method read the database at most once a second. */
  async readWarnings(): Promise<string[]> {
    try {
      return this.derive(await withTimeout(this.#sharedState.get(), REQUEST_TIMEOUTS_MS.probe));
    } catch (error) {
      // The job worker logs an outage of the database (`OutageLog`).
      if (error instanceof TimeoutError || isTemporaryDatabaseError(error)) return this.derive(null);
      this.log.failed('warnings not read', error);
      return this.derive(null, 'The database refuses a query of the warnings; the log says why.');
    }
  }

  /**
   * Derives the warnings.
   * @param state read before; null if it could not be read
   * @param unreadText the warning about a state that could not be read
   */
  derive(state: MonitoredState | null, unreadText = 'The database does not answer in time.'): string[] {
    return applicableTexts([
      ...(state ? this.dataWarnings(state) : [unreadText]),
      ...this.hostWarnings(),
      this.replica.isDegraded &&
        'The replica is unavailable or too far behind: the primary answers heartbeats, and the log says why.',
      ...this.manifestWarnings(),
      this.ring.lastError !== null && 'The token keys on disk cannot be used; the log says why.',
    ]);
  }

  /** Days until the live manifest expires, negative after it; null if no manifest is live. */
  daysUntilManifestExpires(): number | null {
    const { live } = this.manifests;
    return live && (Date.parse(live.content.expires_at) - this.clock.now().getTime()) / DAY_MS;
  }

  private dataWarnings(state: MonitoredState): string[] {
    return applicableTexts([
      ...this.clockWarnings(state.ages),
      ...this.overdueDataWarnings(state.ages),
      ...this.erasureWarnings(state.erasures),
      ...this.mailWarnings(state.mail),
      ...this.eventWarnings(state.events),
      state.key_settings_fault ?? false,
      state.is_read_only && 'The database accepts no writes: activations and all other changes receive 503.',
    ]);
  }

  private clockWarnings({ now }: DataAges): string[] {
    return applicableTexts([
      !this.clock.agreesWith(now) &&
        'The clocks of this machine and of the database differ by more than an hour: nothing is deleted meanwhile.',
      this.clock.hasJumpedAhead() &&
        'The clock of this machine has jumped ahead: nothing is deleted meanwhile. Check the time, then restart.',
    ]);
  }

  private overdueDataWarnings(ages: DataAges): string[] {
    const { telemetry_inbox, overdue, erasure_due, erasure_scheduled_for, file_rewrite, failed } = ages;
    const now = this.clock.now();
    const yesterday = utcDay(new Date(now.getTime() - DAY_MS));
    const isErasureOverdue = erasure_due !== null && erasure_due < utcDay(now);
    const isErasureLate =
      !isErasureOverdue && erasure_scheduled_for !== null && erasure_scheduled_for < yesterday;
    const isMoveLate = telemetry_inbox !== null && telemetry_inbox < yesterday;
    return applicableTexts([
      ...this.retentionRunWarnings(ages),
      isMoveLate && `The telemetry inbox holds rows of ${telemetry_inbox}, which should have moved.`,
      ...this.#policy
        .filter(({ table }) => overdue[table])
        .map(
          ({ table, period, months }) =>
            `Rows of ${overdue[table]} in ${table} should have been deleted (kept ${formatPeriod(period, months, 'en')}).`,
        ),
      isErasureLate &&
        `An erasure request should have been carried out on ${erasure_scheduled_for}: run mooring erasure run to see why.`,
      isErasureOverdue && `An erasure request was due on ${erasure_due} and is overdue.`,
      file_rewrite !== null &&
        `A table was last rewritten on ${file_rewrite}: its file may still hold what was erased since.`,
      failed.length > 0 && `The last retention run failed at ${failed.join(', ')}; the log says why.`,
    ]);
  }

  // A run starts every hour. If runs hang, are interrupted or never start, no other warning would show this for months.
  private retentionRunWarnings(ages: DataAges): string[] {
    const since = lastRetentionOrCreation(ages);
    if (this.clock.now().getTime() - since.getTime() <= DAY_MS) return [];
    return [
      ages.retention_finished
        ? `No retention run has finished since ${rfc3339(since)}; the log says why.`
        : `No retention run has ever finished, and the database was created at ${rfc3339(since)}; the log says why.`,
    ];
  }

  private erasureWarnings(state: ErasureState): string[] {
    const { unrecorded, is_writable, has_old_blocks, licenses_without_address } = state;
    return applicableTexts([
      unrecorded === null && 'TOMBSTONE_FILE cannot be read.',
      !is_writable && 'TOMBSTONE_FILE cannot be written: no erasure is carried out meanwhile.',
      (unrecorded ?? 0) > 0 &&
        `TOMBSTONE_FILE lacks erasure requests of the last 30 days: ${unrecorded}. A restored backup would bring that data back.`,
      has_old_blocks &&
        'TOMBSTONE_FILE has blocks that are older than seven months: remove those older than 30 days.',
      licenses_without_address > 0 &&
        `Licenses without an e-mail address since a restore: ${licenses_without_address}. mooring status names them; set it with mooring license set --email.`,
    ]);
  }

  private mailWarnings({ failing, late }: WaitingMail): string[] {
    if (this.config.isProduction && !this.config.smtpUrl) {
      return ['SMTP_URL is not set: mail is written to DATA_DIR/outbox and not sent.'];
    }
    // A code is mailed only if a license or a purchase has the typed address, and a public warning would reveal this.
    // `mooring status`, the support page and the metrics report such failures.
    const undeliveredMails = failing.filter(
      ({ kind, attempts }) => attempts >= MIN_REPORTED_ATTEMPTS && kind !== CODE_MAIL,
    );
    const reasons = Map.groupBy(undeliveredMails, ({ reason }) => reason);
    // `failing` contains at most 100 mails, codes last. So it contains all other mails if it has a code.
    const isCut = failing.length === 100 && failing.every(({ kind }) => kind !== CODE_MAIL);
    return applicableTexts([
      late > 0 && `Mails that no instance sends: ${late}, due for over 5 minutes.`,
      ...[...reasons].map(
        ([reason, mails]) =>
          `Undelivered mails: ${isCut ? `at least ${mails.length}` : mails.length}, because ${reason}. They are listed by mooring status and on the support page.`,
      ),
    ]);
  }

  private eventWarnings({
    is_recording,
    waiting,
    failing,
    attempts,
    given_up,
    reason,
  }: EventBacklog): string[] {
    return applicableTexts([
      is_recording &&
        !this.config.eventEndpoint &&
        `Events are recorded and not sent (${waiting} waiting), because EVENTS_URL is not set: set it, or run mooring events stop.`,
      attempts >= MIN_REPORTED_ATTEMPTS &&
        `Undelivered events: ${failing}. The newest failure: ${reason}. Not tried yet: ${waiting - failing}.`,
      given_up > 0 &&
        `Events given up after four days: ${given_up}. mooring events resend --given-up sends them again.`,
    ]);
  }

  private hostWarnings(): string[] {
    const { databaseUrl } = this.config;
    const hosts = databaseUrl === undefined ? undefined : DatabaseHosts.of(databaseUrl);
    return hosts ? hostWarnings(hosts.roles) : [];
  }

  private manifestWarnings(): string[] {
    const { live } = this.manifests;
    const contradictions = findManifestContradictions(live, this.config);
    const days = this.daysUntilManifestExpires();
    if (days === null || days >= MANIFEST_WARNING_DAYS) return contradictions;
    return [
      ...contradictions,
      `The live manifest ${days <= 0 ? 'expired' : 'expires'} at ${live!.content.expires_at}.`,
    ];
  }
}
