import { Injectable } from '@nestjs/common';
import { QueryRunner } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Clock, utcDay } from '../core/clock.js';
import { Config } from '../core/config.js';
import { DatabaseUrl, withMaintenanceConnection } from '../database/data-source.js';
import { clocksAgree, ClocksDiffer } from '../database/database-clock.js';
import { LOCKS, tryLock } from '../database/locks.js';
import { countLeaving, deleteLeaving, oldestDay } from './deletion.js';
import { countEnding, endActivations } from './end-activations.js';
import { moveInbox } from '../telemetry/inbox.js';
import { policy, type Rule } from './policy.js';
import { rewriteTable, tablesToRewrite, waitForOldTransactions } from './rewrite.js';
import { rollUpWeeks } from '../telemetry/roll-up.js';

interface Failure {
  readonly table: string;
  readonly error: unknown;
}

/** What a run did, or with `dry_run` would do. */
export interface RetentionReport {
  readonly as_of: Date;
  readonly telemetry_rows_moved: number;
  readonly weeks_counted: number;
  /** Of licenses that ended 11 months ago. */
  readonly activations_ended: number;
  /** Rows by table, of tables that lost any. Of months of telemetry that went whole, an estimate. */
  readonly deleted: Readonly<Record<string, number>>;
  /** How many tables got a new file, without what was deleted from the old one. */
  readonly files_rewritten: number;
  /** The tables where it went wrong, and why. */
  readonly failed: readonly Failure[];
}

interface RunOptions {
  /** Counts what would leave, and changes nothing. */
  readonly dryRun?: boolean;
  /** Told after each step how many are done, and of how many. */
  readonly watch?: (done: number, total: number) => void;
}

/** What leaves, and when. */
@Injectable()
export class RetentionService {
  readonly #policy: readonly Rule[];

  constructor(
    private readonly databaseUrl: DatabaseUrl,
    private readonly clock: Clock,
    private readonly config: Config,
  ) {
    this.#policy = policy(config);
  }

  /**
   * A run, one at a time over all instances, and idempotent: makes partitions ahead, moves the past days' telemetry out of
   * the inbox, counts whole weeks, deletes what has had its time, rewrites files, and writes down what it did.
   * @param asOf the moment to go by; none means the present, read after it was compared
   * @returns null where another instance is at it
   * @throws ClocksDiffer where it is not certain which day it is, and it is no dry run
   */
  async run(asOf?: Date, options: RunOptions = {}): Promise<RetentionReport | null> {
    return withMaintenanceConnection(this.databaseUrl.value, async (dataSource) => {
      // The lock belongs to this one connection; through a pool its unlocking could land on another and do nothing.
      const runner = dataSource.createQueryRunner();
      try {
        if (!options.dryRun && !(await clocksAgree(this.clock, runner))) throw new ClocksDiffer();
        const by = asOf ?? this.clock.now();
        await runner.query("set lock_timeout = '5s'");
        if (!(await tryLock(runner, 'retention'))) return null;
        const report = options.dryRun
          ? await this.look(runner, by, options)
          : await this.work(runner, by, options);
        // Closing the connection would give it back too, but only once the server has noticed.
        await runner.query('select pg_advisory_unlock($1)', [LOCKS.retention]);
        return report;
      } finally {
        await runner.release();
      }
    });
  }

  private async look(runner: QueryRunner, asOf: Date, { watch }: RunOptions): Promise<RetentionReport> {
    const sql = 'select count(*)::integer as rows from telemetry_waiting where received_on < $1';
    const [inbox] = (await runner.query(sql, [utcDay(asOf)])) as { rows: number }[];
    const steps = new Steps();
    const now = this.clock.now();
    const ended = await steps.attempt('activation', () => countEnding(runner, earlier(asOf, now)));
    const deleted = await this.each(steps, watch, (rule) => countLeaving(runner, rule, { asOf, now }));
    return {
      as_of: asOf,
      telemetry_rows_moved: inbox!.rows,
      weeks_counted: 0,
      activations_ended: ended ?? 0,
      deleted,
      files_rewritten: 0,
      failed: steps.failed,
    };
  }

  private async work(runner: QueryRunner, asOf: Date, { watch }: RunOptions): Promise<RetentionReport> {
    const id = uuidv7();
    const now = this.clock.now();
    const began = 'insert into retention_run (id, as_of, started_at) values ($1, $2, $3)';
    await runner.query(began, [id, asOf, now]);
    const steps = new Steps();
    const moved = await steps.attempt('telemetry_inbox', () => moveInbox(runner, asOf, now));
    const counted = await steps.attempt('fleet_week', () => rollUpWeeks(runner, earlier(asOf, now)));
    const ended = await steps.attempt('activation', () => endActivations(runner, earlier(asOf, now), now));
    const oldest: Record<string, string> = {};
    const deleted = await this.each(steps, watch, async (rule) => {
      const rows = await deleteLeaving(runner, rule, { asOf, now });
      const day = await oldestDay(runner, rule);
      if (day !== null && day <= utcDay(asOf)) oldest[rule.table] = day;
      return rows;
    });
    const files_rewritten = await this.rewrite(steps, runner, now);
    const { failed } = steps;
    const tables = [...new Set(failed.map(({ table }) => table))];
    await runner.query(
      'update retention_run set finished_at = $2, deleted = $3, oldest = $4, failed = $5 where id = $1',
      [id, this.clock.now(), deleted, oldest, tables],
    );
    return {
      as_of: asOf,
      telemetry_rows_moved: moved ?? 0,
      weeks_counted: counted ?? 0,
      activations_ended: ended ?? 0,
      deleted,
      files_rewritten,
      failed,
    };
  }

  private async rewrite(steps: Steps, runner: QueryRunner, now: Date): Promise<number> {
    const { largeTableHour } = this.config;
    const due = await steps.attempt('file_rewrite', async () => {
      const tables = await tablesToRewrite(runner, now, largeTableHour);
      if (tables.length > 0) await waitForOldTransactions(runner);
      return tables;
    });
    let files = 0;
    for (const table of due ?? []) {
      await steps.attempt(table, async () => {
        await rewriteTable(runner, table, now);
        files += 1;
      });
    }
    return files;
  }

  private async each(steps: Steps, watch: RunOptions['watch'], step: (rule: Rule) => Promise<number>) {
    const deleted: Record<string, number> = {};
    for (const [done, rule] of this.#policy.entries()) {
      const rows = await steps.attempt(rule.table, () => step(rule));
      if (rows) deleted[rule.table] = rows;
      watch?.(done + 1, this.#policy.length);
    }
    return deleted;
  }
}

const earlier = (a: Date, b: Date): Date => (a < b ? a : b);

/** What goes wrong in one step keeps nothing in the other tables: data leaves on its day. */
class Steps {
  readonly failed: Failure[] = [];

  async attempt<T>(table: string, step: () => Promise<T>): Promise<T | undefined> {
    return step().catch((error: unknown) => void this.failed.push({ table, error }));
  }
}
