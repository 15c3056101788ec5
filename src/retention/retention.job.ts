import { BeforeApplicationShutdown, Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { DataSource } from 'typeorm';
import { Clock } from '../core/clock.js';
import { AppLogger } from '../core/logger.js';
import { waitAtShutdown } from '../core/shutdown-wait.js';
import { withTimeout } from '../database/timeout.js';
import { ErasureService } from '../erasure/erasure.service.js';
import { hasLatestRun, RUN_MINUTE } from './finished-runs.js';
import { RetentionService, type RetentionReport } from './retention.service.js';

/**
 * How long `RetentionService.run`, and the erasures after it, are waited for: a connection lost without an error blocks no later
 * run. A step that goes on holds its lock, so the later runs do not repeat it.
 */
const STEP_TIMEOUT_MS = 30 * 60_000;

/**
 * Runs the retention five minutes after midnight (UTC) and every hour after that, so that an outage at midnight delays it by
 * an hour and not by a day. A start runs it too, unless the hourly run that was due last has taken place, on any instance.
 * After each run, also after a failed one, it carries out the erasure requests that are due, in case their own job
 * failed.
 */
@Injectable()
export class RetentionJob implements OnApplicationBootstrap, BeforeApplicationShutdown {
  #starting: Promise<void> | undefined;
  #running: Promise<void> | undefined;

  constructor(
    private readonly retention: RetentionService,
    private readonly erasures: ErasureService,
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
    private readonly log: AppLogger,
  ) {}

  // The run is not awaited, because it may take long and the start of the server must not wait for it.
  onApplicationBootstrap(): void {
    this.#starting = hasLatestRun(this.dataSource, this.clock)
      .catch(() => undefined)
      .then((hasRun) => {
        if (!hasRun) this.run();
      });
  }

  // A run that does not end within the wait of `waitAtShutdown` ends with the process. Each step can be interrupted; the next run
  // repeats it.
  async beforeApplicationShutdown(): Promise<void> {
    await waitAtShutdown(this.whenIdle());
  }

  /** Resolves when no run is in progress. */
  async whenIdle(): Promise<void> {
    await this.#starting;
    await this.#running;
  }

  @Cron(`0 ${RUN_MINUTE} * * * *`, { timeZone: 'UTC' })
  run(): void {
    this.#running ??= this.runOnce().finally(() => (this.#running = undefined));
  }

  private logReport({
    telemetry_rows_moved,
    weeks_counted,
    activations_ended,
    deleted,
    tables_rewritten,
    failed,
  }: RetentionReport): void {
    const rows_deleted = Object.values(deleted).reduce((sum, rows) => sum + rows, 0);
    const counts = { telemetry_rows_moved, weeks_counted, activations_ended, rows_deleted, tables_rewritten };
    this.log.info('retention run', counts);
    for (const { table, error } of failed) this.log.failed('retention failed', error, { table });
  }

  private async runOnce(): Promise<void> {
    // After a failure the next hourly run tries again. If runs keep failing, the age of the data causes a warning.
    await this.runStep('retention run', async () => {
      const report = await this.retention.run();
      if (report) this.logReport(report);
    });
    // Each erasure request has a job that carries it out. `runDue` carries out the requests whose job failed.
    await this.runStep('erasures', async () => {
      const { errors } = await this.erasures.runDue();
      for (const error of errors) this.log.failed('erasure failed', error);
    });
  }

  /** Runs a step, and waits for it at most half an hour. A failure is logged whenever it happens, and the next step starts. */
  private async runStep(name: 'retention run' | 'erasures', step: () => Promise<void>): Promise<void> {
    const done = step().catch((error: unknown) => this.log.failed(`${name} failed`, error));
    await withTimeout(done, STEP_TIMEOUT_MS).catch(() => this.log.warning(`${name} still in progress`));
  }
}
