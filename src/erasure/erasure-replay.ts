import { Injectable, OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { Config } from '../core/config.js';
import { AppLogger } from '../core/logger.js';
import { findWriteFault } from '../core/write-fault.js';
import { DatabaseUrl } from '../database/data-source.js';
import { DatabaseHosts } from '../database/database-hosts.js';
import { ErasureService } from './erasure.service.js';

/** The pause after an attempt that failed, for example because the new primary has failed too. */
const RETRY_MS = 30_000;

/**
 * Repeats the erasures that the database lacks: at the start, before the first request is answered, because a backup may have been
 * restored; and when the primary has moved, because a standby may have been promoted without the last commits.
 */
@Injectable()
export class ErasureReplay implements OnModuleInit, OnApplicationShutdown {
  #endListening: (() => void) | undefined;
  #retry: NodeJS.Timeout | undefined;
  #isShuttingDown = false;

  constructor(
    private readonly erasures: ErasureService,
    private readonly databaseUrl: DatabaseUrl,
    private readonly config: Config,
    private readonly log: AppLogger,
  ) {}

  async onModuleInit(): Promise<void> {
    await this.erasures.replay();
    // The start continues, because the file may be writable again soon. Until then each new erasure fails, and its job tries again.
    const fault = await findWriteFault(this.config.tombstoneFile, 'file');
    if (fault) this.log.warning('TOMBSTONE_FILE not writable', { ...fault });
    this.#endListening = DatabaseHosts.of(this.databaseUrl.value)?.onMoved(() => void this.replayAfterMove());
  }

  onApplicationShutdown(): void {
    this.#isShuttingDown = true;
    this.#endListening?.();
    clearTimeout(this.#retry);
  }

  private async replayAfterMove(): Promise<void> {
    clearTimeout(this.#retry);
    try {
      await this.erasures.replay();
    } catch (error) {
      // The shutdown has closed the connections of a replay in progress.
      if (this.#isShuttingDown) return;
      this.log.failed('erasures not repeated', error);
      this.#retry = setTimeout(() => void this.replayAfterMove(), RETRY_MS).unref();
    }
  }
}
