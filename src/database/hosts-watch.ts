import { Injectable, OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { AppLogger } from '../core/logger.js';
import { DatabaseUrl } from './data-source.js';
import { DatabaseHosts } from './database-hosts.js';

/** The interval at which all hosts are asked whether they are the primary. */
const WATCH_INTERVAL_MS = 5_000;

/**
 * Asks the hosts of DATABASE_URL from time to time, if there are several. So an instance also notices a new primary while the
 * former one still answers, and knows which hosts are unavailable.
 */
@Injectable()
export class HostsWatch implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #hosts: DatabaseHosts | undefined;
  #timer: NodeJS.Timeout | undefined;
  #endLogging: (() => void) | undefined;

  constructor(
    { value }: DatabaseUrl,
    private readonly log: AppLogger,
  ) {
    this.#hosts = DatabaseHosts.of(value);
  }

  onApplicationBootstrap(): void {
    const hosts = this.#hosts;
    if (!hosts) return;
    this.#endLogging = hosts.onMoved((previous_host, host, timeline) =>
      this.log.warning('database primary moved', { host, previous_host, timeline }),
    );
    // A failure is ignored, because requests report an outage.
    this.#timer = setInterval(() => void hosts.search().catch(() => undefined), WATCH_INTERVAL_MS).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.#timer);
    this.#endLogging?.();
  }
}
