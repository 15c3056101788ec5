import { BeforeApplicationShutdown, Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { Clock } from '../clock.js';
import { Log } from '../http/log.js';
import { RetentionService } from './retention.service.js';

/**
 * Runs the retention a few minutes after UTC midnight, and every hour after, so that one outage at midnight delays it by
 * an hour and not by a day; also at start, for the nights this instance slept through.
 */
@Injectable()
export class RetentionJob implements OnApplicationBootstrap, BeforeApplicationShutdown {
  #running: Promise<void> = Promise.resolve();

  constructor(
    private readonly retention: RetentionService,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  // Not awaited: a day's rows may take their time, and nobody should wait for a port because of them.
  onApplicationBootstrap(): void {
    this.run();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.idle();
  }

  /** Resolves when no run is under way. */
  idle(): Promise<void> {
    return this.#running;
  }

  @Cron('0 5 * * * *', { timeZone: 'UTC' })
  run(): void {
    this.#running = this.#running.then(() => this.runOnce());
  }

  private async runOnce(): Promise<void> {
    try {
      const moved = await this.retention.run(this.clock.now());
      if (moved !== null) this.log.info('retention run', { telemetry_rows_moved: moved });
    } catch (error) {
      // The next hour makes up for it; meanwhile the age of the data warns.
      this.log.failed('retention run failed', error);
    }
  }
}
