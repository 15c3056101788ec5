import { Injectable, OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import type pg from 'pg';
import { DataSource } from 'typeorm';
import { Clock } from '../core/clock.js';
import { Config } from '../core/config.js';
import { Batch } from '../database/batch.js';
import { poolOf, replicaPool } from '../database/data-source.js';
import { withTimeout } from '../database/timeout.js';
import { REQUEST_TIMEOUTS_MS } from '../database/request-timeouts.js';
import { AppLogger } from '../core/logger.js';
import { inOrder, READ, type ActivationFacts } from './activation-reads.js';
import { ReplicaPositions } from './replica-position.js';

/** How often the primary's position is read, and the replica is asked whether it has replayed it. */
const LOOK_MS = 2_000;
/** Older than this nothing is known: the process stood still, or its clock jumped. */
const BLIND_MS = 10_000;

// One row at least, so that also an answer without a binding says whether the replica keeps up. Its activation_id is null.
const READ_COPY = `
  select coalesce(pg_last_wal_replay_lsn() >= $2::pg_lsn, false) as keeps_up, binding.*
  from (values (true)) as always left join (${READ}) as binding on true`;

type Copy = ActivationFacts & { readonly keeps_up: boolean };

class ReplicaBehind extends Error {}

/**
 * A replica for heartbeats (decision 0013). Once it has failed it is not asked again before a look in the background has
 * found it well, so that it costs those a tenth of a second who met the failure, and nobody else.
 */
@Injectable()
export class Replica implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #pool: pg.Pool | undefined;
  readonly #positions = new ReplicaPositions();
  readonly #reads = new Batch<string, ActivationFacts | undefined>((ids) => this.read(ids));
  /** How many went out together. */
  readonly batchSizes = this.#reads.sizes;
  #timer?: NodeJS.Timeout;
  /** Undefined before the first look. */
  #isWell: boolean | undefined;
  #lookedAt = 0;
  #isLooking = false;
  /** Why it was last found unwell, undefined where it was found well since: each failure is an error of its own. */
  #failure: unknown;

  constructor(
    private readonly dataSource: DataSource,
    private readonly config: Config,
    private readonly clock: Clock,
    private readonly log: AppLogger,
  ) {
    const { databaseReadUrl } = this.config;
    this.#pool = databaseReadUrl === undefined ? undefined : replicaPool(databaseReadUrl);
  }

  async onApplicationBootstrap(): Promise<void> {
    if (!this.#pool) return;
    await this.look();
    // The service may have been ended during the first look.
    if (this.#pool.ending) return;
    this.#timer = setInterval(() => void this.look(), LOOK_MS).unref();
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.#timer);
    await this.#pool?.end();
  }

  /** Its connections; undefined where there is no replica. */
  get pool(): pg.Pool | undefined {
    return this.#pool;
  }

  /** Whether there is a replica, and it cannot be asked. */
  get trouble(): boolean {
    return this.#isWell === false;
  }

  /**
   * The binding as the replica has it, of which only a yes may be believed. Never throws.
   * @returns undefined where it has none, or none that may be believed, or there is no replica
   */
  find(id: string): Promise<ActivationFacts | undefined> | undefined {
    const isBlind = Math.abs(this.clock.now().getTime() - this.#lookedAt) > BLIND_MS;
    if (!this.#isWell || isBlind) return undefined;
    // Where too many wait for it already, the primary is asked.
    return this.#reads.add(id).catch(() => undefined);
  }

  private async read(ids: string[]): Promise<(ActivationFacts | undefined)[]> {
    try {
      if (this.#isWell) return inOrder(ids, await this.ask(ids));
    } catch (error) {
      this.turn(false, error);
    }
    // Those who waited behind a failure do not wait for another.
    return ids.map(() => undefined);
  }

  private async look(): Promise<void> {
    // One at a time: what a slow look has seen must not replace what a later one has.
    if (this.#isLooking) return;
    this.#isLooking = true;
    const began = this.clock.now().getTime();
    // An outage of the primary is told by those who need it.
    await this.notePosition().catch(() => undefined);
    const before = this.#failure;
    // The heartbeats' own statement: what it cannot do here (an older schema, say) it cannot do for them.
    await this.ask([]).then(
      // A failure of a heartbeat meanwhile is the later word: the next look decides.
      () => this.#failure === before && this.turn(true),
      (error: unknown) => this.turn(false, error),
    );
    this.#lookedAt = began;
    this.#isLooking = false;
  }

  private async notePosition(): Promise<void> {
    const at = this.clock.now().getTime();
    const sql = 'select pg_current_wal_flush_lsn()::text as position';
    const { rows } = await poolOf(this.dataSource).query<{ position: string }>(sql);
    this.#positions.note(rows[0]!.position, at);
  }

  private async ask(ids: string[]): Promise<ActivationFacts[]> {
    const needed = this.#positions.needed(this.clock.now().getTime());
    if (needed === undefined) throw new ReplicaBehind();
    const statement = { name: 'read copies of bindings', text: READ_COPY, values: [ids, needed] };
    const { rows } = await withTimeout(this.#pool!.query<Copy>(statement), REQUEST_TIMEOUTS_MS.replica);
    if (!rows[0]!.keeps_up) throw new ReplicaBehind();
    return rows;
  }

  private turn(isWell: boolean, error?: unknown): void {
    this.#failure = error;
    if (this.#isWell === isWell || this.#pool!.ending) return;
    this.#isWell = isWell;
    if (isWell) this.log.info('the replica answers heartbeats');
    else this.log.failed('the primary answers heartbeats: replica away or behind', error);
  }
}
