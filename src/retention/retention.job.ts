import { Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { Clock } from '../clock.js';
import { Log } from '../http/log.js';
import { RetentionService } from './retention.service.js';

/** Runs the retention a few minutes after UTC midnight, and at start, for the nights this instance slept through. */
@Injectable()
export class RetentionJob implements OnApplicationBootstrap {
  constructor(
    private readonly retention: RetentionService,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.run();
  }

  @Cron('0 5 0 * * *', { timeZone: 'UTC' })
  async run(): Promise<void> {
    try {
      const moved = await this.retention.run(this.clock.now());
      if (moved !== null) this.log.info('retention run', { telemetry_rows_moved: moved });
    } catch (error) {
      // The next night makes up for it; meanwhile the age of the data warns.
      this.log.failed('retention run failed', error);
    }
  }
}
