import { Injectable } from '@nestjs/common';
import { QueryRunner } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Clock, utcDay } from '../core/clock.js';
import { Config } from '../core/config.js';
import { DatabaseUrl, withMaintenanceConnection } from '../database/data-source.js';
import { isTimeCertain, TimeUncertain } from '../database/database-clock.js';
import { LOCKS, tryLock } from '../database/locks.js';
import { execute, queryOne } from '../database/sql.js';
import { countDeletable, deleteExpired, findOldestDay } from './deletion.js';
import { countDueActivations, endActivations } from './end-activations.js';
import { moveInbox } from '../telemetry/inbox.js';
import { createRetentionPolicy, type RetentionRule } from './policy.js';
import { rewriteTable, tablesToRewrite, waitForOldTransactions } from './rewrite.js';
import { rollUpWeeks } from '../telemetry/roll-up.js';

interface StepFailure {
  readonly table: string;
  readonly error: unknown;
}

/** What a run did, or what a dry run would do. The report of a dry run has no counted weeks and no rewritten tables. */
export interface RetentionReport {
  readonly as_of: Date;
  readonly telemetry_rows_moved: number;
  readonly weeks_counted: number;
  /** The number of activations that were due, because their license ended more than 11 months ago. */
  readonly activations_ended: number;
  /** The number of deleted rows by table, without zeros. The number of rows in dropped partitions may be an estimate. */
  readonly deleted: Readonly<Record<string, number>>;
  /** The number of tables whose file was rewritten, so that it contains no deleted rows. */
  readonly tables_rewritten: number;
  /** The steps that failed, by table, with the error. */
  readonly failed: readonly StepFailure[];
}

interface RunOptions {
  /** If true, the run only counts the rows that are due, and changes nothing. */
  readonly dryRun?: boolean;
  /** Called after each rule, with the number of finished rules and the number of all rules. */
  readonly onProgress?: (done: number, total: number) => void;
}

/** Applies the retention policy. */
@Injectable()
export class RetentionService {
  readonly #policy: readonly RetentionRule[];

  constructor(
    private readonly databaseUrl: DatabaseUrl,
    private readonly clock: Clock,
    private readonly config: Config,
  ) {
    this.#policy = createRetentionPolicy(config);
  }

  /**
   * Runs the retention. Only one instance runs it at a time, and a run can be repeated safely. It creates future partitions,
   * moves telemetry of past days out of the inbox, counts whole weeks, ends activations of licenses that ended more
   * than 11 months ago, deletes rows that are due, rewrites files and records the run.
   * @param asOf the time for which the policy is applied; by default the current time
   * @returns null if another run is in progress, also one of another instance
   * @throws TimeUncertain if the time is uncertain; a dry run does not check this
   */
  async run(asOf?: Date, options: RunOptions = {}): Promise<RetentionReport | null> {
    return withMaintenanceConnection(this.databaseUrl.value, async (dataSource) => {
      // One connection takes and releases the lock, because an advisory lock belongs to its connection.
      const runner = dataSource.createQueryRunner();
      const now = this.clock.now();
      if (!options.dryRun && !(await isTimeCertain(this.clock, runner, now))) throw new TimeUncertain();
      const effectiveAsOf = asOf ?? now;
      // A step that waits longer for a lock fails, and the next hourly run repeats it.
      await execute(runner, "set lock_timeout = '5s'");
      if (!(await tryLock(runner, 'retention'))) return null;
      try {
        return options.dryRun
          ? await this.countDue(runner, effectiveAsOf, options)
          : await this.applyPolicy(runner, effectiveAsOf, now, options);
      } finally {
        // The lock is released explicitly, because PostgreSQL releases the lock of a closed connection with a delay.
        await execute(runner, 'select pg_advisory_unlock($1)', [LOCKS.retention]);
      }
    });
  }

  private async countDue(
    runner: QueryRunner,
    asOf: Date,
    { onProgress }: RunOptions,
  ): Promise<RetentionReport> {
    // `telemetry_waiting` is a view of both inboxes (src/telemetry/inbox.ts).
    const sql = 'select count(*)::integer as rows from telemetry_waiting where received_on < $1';
    const inbox = await queryOne<{ rows: number }>(runner, sql, [utcDay(asOf)]);
    const steps = new StepRunner();
    const now = this.clock.now();
    const dueActivationCount = await steps.run('activation', () =>
      countDueActivations(runner, minDate(asOf, now)),
    );
    const deleted = await this.forEachRule(steps, onProgress, (rule) =>
      countDeletable(runner, rule, { asOf, now }),
    );
    return {
      as_of: asOf,
      telemetry_rows_moved: inbox.rows,
      weeks_counted: 0,
      activations_ended: dueActivationCount ?? 0,
      deleted,
      tables_rewritten: 0,
      failed: steps.failed,
    };
  }

  private async applyPolicy(
    runner: QueryRunner,
    asOf: Date,
    now: Date,
    { onProgress }: RunOptions,
  ): Promise<RetentionReport> {
    const id = uuidv7();
    const insert = 'insert into retention_run (id, as_of, started_at) values ($1, $2, $3)';
    await execute(runner, insert, [id, asOf, now]);
    const steps = new StepRunner();
    const movedRowCount = await steps.run('telemetry_inbox', () => moveInbox(runner, asOf, now));
    const weekCount = await steps.run('fleet_week', () => rollUpWeeks(runner, minDate(asOf, now), now));
    const endedActivationCount = await steps.run('activation', () =>
      endActivations(runner, minDate(asOf, now), now),
    );
    // The oldest day that remains in each table, which `/privacy/data` shows. A day later than `asOf`, such as a future expiry, is
    // left out.
    const oldest: Record<string, string> = {};
    const deleted = await this.forEachRule(steps, onProgress, async (rule) => {
      const rows = await deleteExpired(runner, rule, { asOf, now });
      const day = await findOldestDay(runner, rule);
      if (day !== null && day <= utcDay(asOf)) oldest[rule.table] = day;
      return rows;
    });
    const tables_rewritten = await this.rewriteFiles(steps, runner, now);
    const { failed } = steps;
    const tables = [...new Set(failed.map(({ table }) => table))];
    await execute(
      runner,
      'update retention_run set finished_at = $2, deleted = $3, oldest = $4, failed = $5 where id = $1',
      [id, this.clock.now(), deleted, oldest, tables],
    );
    return {
      as_of: asOf,
      telemetry_rows_moved: movedRowCount ?? 0,
      weeks_counted: weekCount ?? 0,
      activations_ended: endedActivationCount ?? 0,
      deleted,
      tables_rewritten,
      failed,
    };
  }

  private async rewriteFiles(steps: StepRunner, runner: QueryRunner, now: Date): Promise<number> {
    const { largeTableHour } = this.config;
    const due = await steps.run('file_rewrite', async () => {
      const tables = await tablesToRewrite(runner, now, largeTableHour);
      if (tables.length > 0) await waitForOldTransactions(runner);
      return tables;
    });
    let rewritten = 0;
    for (const table of due ?? []) {
      await steps.run(table, async () => {
        await rewriteTable(runner, table, now);
        rewritten += 1;
      });
    }
    return rewritten;
  }

  /** @returns the result of `step` by table, without zeros and failures */
  private async forEachRule(
    steps: StepRunner,
    onProgress: RunOptions['onProgress'],
    step: (rule: RetentionRule) => Promise<number>,
  ) {
    const rowsByTable: Record<string, number> = {};
    for (const [index, rule] of this.#policy.entries()) {
      const rows = await steps.run(rule.table, () => step(rule));
      if (rows) rowsByTable[rule.table] = rows;
      onProgress?.(index + 1, this.#policy.length);
    }
    return rowsByTable;
  }
}

/** Two steps use the earlier time, so that an `asOf` in the future neither counts a running week nor ends an activation early. */
const minDate = (a: Date, b: Date): Date => (a < b ? a : b);

/** Runs steps and collects their errors, so that a failed step does not delay deletions in other tables. */
class StepRunner {
  readonly failed: StepFailure[] = [];

  async run<T>(table: string, step: () => Promise<T>): Promise<T | undefined> {
    return step().catch((error: unknown) => void this.failed.push({ table, error }));
  }
}
