import { Injectable, OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { AppLogger } from '../core/logger.js';
import { DatabaseUrl } from '../database/data-source.js';
import { DatabaseHosts } from '../database/database-hosts.js';
import { ErasureService } from './erasure.service.js';

/** The pause before another attempt, if the new primary fails again. */
const RETRY_MS = 30_000;

/**
 * Repeats the erasures that are missing in the database: at the start, before any request is served, those that the restore of a
 * backup has undone; and when the primary has moved, those that an asynchronous failover has lost.
 */
@Injectable()
export class ErasureReplay implements OnModuleInit, OnApplicationShutdown {
  #endListening: (() => void) | undefined;
  #retry: NodeJS.Timeout | undefined;

  constructor(
    private readonly erasures: ErasureService,
    private readonly databaseUrl: DatabaseUrl,
    private readonly log: AppLogger,
  ) {}

  async onModuleInit(): Promise<void> {
    await this.erasures.replay();
    this.#endListening = DatabaseHosts.of(this.databaseUrl.value)?.onMoved(() => void this.replayAfterMove());
  }

  onApplicationShutdown(): void {
    this.#endListening?.();
    clearTimeout(this.#retry);
  }

  private async replayAfterMove(): Promise<void> {
    clearTimeout(this.#retry);
    try {
      await this.erasures.replay();
    } catch (error) {
      this.log.failed('erasures not repeated', error);
      this.#retry = setTimeout(() => void this.replayAfterMove(), RETRY_MS).unref();
    }
  }
}
