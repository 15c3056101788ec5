import { setTimeout as wait } from 'node:timers/promises';
import { BeforeApplicationShutdown, Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { AppLogger } from '../core/logger.js';
import { ErasureService } from '../erasure/erasure.service.js';
import { RetentionService, type RetentionReport } from './retention.service.js';

/** A run whose connection was lost without a word must not keep later ones from running. */
const LATE_MS = 30 * 60_000;
const SHUTDOWN_MS = 2_000;

/**
 * Runs the retention a few minutes after UTC midnight, and every hour after, so that one outage at midnight delays it by
 * an hour and not by a day; also at start, for the nights this instance slept through.
 */
@Injectable()
export class RetentionJob implements OnApplicationBootstrap, BeforeApplicationShutdown {
  #running: Promise<void> | undefined;

  constructor(
    private readonly retention: RetentionService,
    private readonly erasures: ErasureService,
    private readonly log: AppLogger,
  ) {}

  // Not awaited: a day's rows may take their time, and nobody should wait for a port because of them.
  onApplicationBootstrap(): void {
    this.run();
  }

  // A run that takes longer is cut with its connection: every step may be, and the next run makes up for it.
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.race([this.idle(), wait(SHUTDOWN_MS, undefined, { ref: false })]);
  }

  /** Resolves when no run is under way. */
  async idle(): Promise<void> {
    await this.#running;
  }

  @Cron('0 5 * * * *', { timeZone: 'UTC' })
  run(): void {
    this.#running ??= this.runOnce().finally(() => (this.#running = undefined));
  }

  private tell({
    telemetry_rows_moved,
    weeks_counted,
    activations_ended,
    deleted,
    files_rewritten,
    failed,
  }: RetentionReport): void {
    const rows_deleted = Object.values(deleted).reduce((sum, rows) => sum + rows, 0);
    const counts = { telemetry_rows_moved, weeks_counted, activations_ended, rows_deleted, files_rewritten };
    this.log.info('retention run', counts);
    for (const { table, error } of failed) this.log.failed('retention failed', error, { table });
  }

  private async runOnce(): Promise<void> {
    const late = Promise.withResolvers<never>();
    const fail = () => late.reject(new Error('The retention run takes too long'));
    const timer = setTimeout(fail, LATE_MS).unref();
    try {
      const report = await Promise.race([this.retention.run(), late.promise]);
      if (report) this.tell(report);
    } catch (error) {
      // The next hour makes up for it; meanwhile the age of the data warns.
      this.log.failed('retention run failed', error);
    } finally {
      clearTimeout(timer);
    }
    try {
      // A job carries each out when its time has come; whatever kept one from it, this makes up for.
      await this.erasures.runDue();
    } catch (error) {
      this.log.failed('erasures failed', error);
    }
  }
}
