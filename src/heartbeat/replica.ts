import { Injectable, OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import type pg from 'pg';
import { DataSource } from 'typeorm';
import { Clock } from '../core/clock.js';
import { Config } from '../core/config.js';
import { connectionRefusal } from '../database/access-errors.js';
import { Batch } from '../database/batch.js';
import { poolOf, replicaPool } from '../database/data-source.js';
import { DatabaseHosts } from '../database/database-hosts.js';
import { TIMELINE_OF_STANDBY } from '../database/host-answer.js';
import { queryPrepared } from '../database/sql.js';
import { withTimeout } from '../database/timeout.js';
import { REQUEST_TIMEOUTS_MS } from '../database/request-timeouts.js';
import { AppLogger } from '../core/logger.js';
import { orderRowsByIds, READ_ACTIVATIONS, type ActivationState } from './activation-reads.js';
import { PrimaryPositions } from './primary-positions.js';

/** The interval of the checks, each of which reads the position of the primary and queries the replica. */
const REPLICA_CHECK_INTERVAL_MS = 2_000;
/** The result of an older check is not used: the process was paused, or its clock was changed. */
const MAX_CHECK_AGE_MS = 10_000;

// Returns the activations ($1: ids), and in each row `keeps_up`: whether the replica has replayed the required position ($2), on
// the timeline of the primary ($3; null if DATABASE_URL has one host). If no id has an activation, the only row has the
// activation_id null.
const READ_FROM_REPLICA = `
  select coalesce(pg_last_wal_replay_lsn() >= $2::pg_lsn, false)
    and ($3::int is null or ${TIMELINE_OF_STANDBY} >= $3) as keeps_up, activation.*
  from (values (true)) as always left join (${READ_ACTIVATIONS}) as activation on true`;

type ReplicaRow = ActivationState & { readonly keeps_up: boolean };

/**
 * The error of a replica that has not replayed the required position, or follows a former primary, or of a process that does not
 * know this position.
 */
class ReplicaBehindError extends Error {}

/**
 * Reads activations from a replica (docs/decisions/0013). After a failure no heartbeat uses the replica until a check in the
 * background succeeds, so that only the heartbeats of the failed statement are delayed.
 */
@Injectable()
export class Replica implements OnApplicationBootstrap, OnApplicationShutdown {
  /** The connection pool; undefined if no replica is configured. */
  readonly pool: pg.Pool | undefined;
  /** The hosts of DATABASE_URL, if it has several. */
  readonly #hosts: DatabaseHosts | undefined;
  readonly #positions = new PrimaryPositions();
  readonly #reads = new Batch<string, ActivationState | undefined>((ids) => this.read(ids));
  /** A histogram of the number of ids in a statement. */
  readonly batchSizes = this.#reads.sizes;
  #timer?: NodeJS.Timeout;
  /** Whether the replica can be used; undefined before the first check. */
  #isHealthy: boolean | undefined;
  /** The time at which the last completed check began, in Unix milliseconds. */
  #checkedAt = 0;
  #isChecking = false;
  /** The error of the last failure, undefined after a success. Each failure has its own error object. */
  #lastError: unknown;

  constructor(
    private readonly dataSource: DataSource,
    private readonly config: Config,
    private readonly clock: Clock,
    private readonly log: AppLogger,
  ) {
    const { databaseReadUrl, databaseUrl } = this.config;
    this.pool = databaseReadUrl === undefined ? undefined : replicaPool(databaseReadUrl);
    this.#hosts = databaseUrl === undefined ? undefined : DatabaseHosts.of(databaseUrl);
  }

  async onApplicationBootstrap(): Promise<void> {
    if (!this.pool) return;
    await this.check();
    // The service may have been shut down during the first check.
    if (this.pool.ending) return;
    this.#timer = setInterval(() => void this.check(), REPLICA_CHECK_INTERVAL_MS).unref();
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.#timer);
    await this.pool?.end();
  }

  /** Whether a replica is configured but cannot be used. */
  get isDegraded(): boolean {
    return this.#isHealthy === false;
  }

  /**
   * Reads an activation from the replica. The result may confirm a heartbeat, but not refuse one. Never throws.
   * @returns undefined if the row is missing, the replica cannot be used, or no replica is configured
   */
  find(id: string): Promise<ActivationState | undefined> | undefined {
    const isCheckOutdated = Math.abs(this.clock.now().getTime() - this.#checkedAt) > MAX_CHECK_AGE_MS;
    if (!this.#isHealthy || isCheckOutdated) return undefined;
    // A full queue rejects the call, and the caller then reads from the primary.
    return this.#reads.add(id).catch(() => undefined);
  }

  private async read(ids: string[]): Promise<(ActivationState | undefined)[]> {
    try {
      if (this.#isHealthy) return orderRowsByIds(ids, await this.queryReplica(ids));
    } catch (error) {
      this.setHealth(false, error);
    }
    // Calls that were queued behind a failure use the primary at once.
    return ids.map(() => undefined);
  }

  private async check(): Promise<void> {
    // Checks do not overlap: the result of a slow check must not replace that of a later one.
    if (this.#isChecking) return;
    this.#isChecking = true;
    const startedAt = this.clock.now().getTime();
    // A failure is ignored here, because requests report an outage of the primary.
    await this.recordPosition().catch(() => undefined);
    const errorBefore = this.#lastError;
    // The check runs the statement of heartbeats, so that it also fails where heartbeats would, such as on an older schema.
    await this.queryReplica([]).then(
      // If a heartbeat failed during the check, its result is newer, and the next check decides.
      () => this.#lastError === errorBefore && this.setHealth(true),
      (error: unknown) => this.setHealth(false, error),
    );
    this.#checkedAt = startedAt;
    this.#isChecking = false;
  }

  private async recordPosition(): Promise<void> {
    const at = this.clock.now().getTime();
    const [row] = await queryPrepared<{ position: string }>(poolOf(this.dataSource), {
      name: 'read position',
      text: 'select pg_current_wal_flush_lsn()::text as position',
    });
    this.#positions.record(row!.position, at);
  }

  private async queryReplica(ids: string[]): Promise<ActivationState[]> {
    const requiredPosition = this.#positions.requiredPosition(this.clock.now().getTime());
    if (requiredPosition === undefined) throw new ReplicaBehindError();
    const statement = {
      name: 'read activations of replica',
      text: READ_FROM_REPLICA,
      values: [ids, requiredPosition, this.#hosts?.timeline ?? null],
    };
    const result = queryPrepared<ReplicaRow>(this.pool!, statement);
    const rows = await withTimeout(result, REQUEST_TIMEOUTS_MS.replica);
    if (!rows[0]!.keeps_up) throw new ReplicaBehindError();
    return rows;
  }

  private setHealth(isHealthy: boolean, error?: unknown): void {
    this.#lastError = error;
    if (this.#isHealthy === isHealthy || this.pool!.ending) return;
    this.#isHealthy = isHealthy;
    if (isHealthy) this.log.info('replica available, heartbeats use the replica');
    else {
      // An error that waiting would not end, such as a wrong password.
      const refusal = connectionRefusal(error, this.config.databaseReadUrl!, 'DATABASE_READ_URL');
      const reason = refusal ? { reason: refusal.message } : {};
      this.log.failed('replica unavailable or behind, heartbeats use the primary', error, reason);
    }
  }
}
