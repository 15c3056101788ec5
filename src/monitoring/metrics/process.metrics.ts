import {
  constants,
  monitorEventLoopDelay,
  PerformanceObserver,
  type PerformanceEntry,
} from 'node:perf_hooks';
import { Injectable, OnApplicationShutdown } from '@nestjs/common';
import { KeyRing } from '../../keys/tokens/key-ring.js';
import type { MetricsRegistry, MetricsSource } from './registry.js';
import { packageVersion } from '../../core/package-version.js';

/** The event loop delay is sampled with a timer of this interval. */
const SAMPLE_INTERVAL_MS = 10;
const PERCENTILES = { median: 50, p99: 99, max: 100 };
const GC_KINDS: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weak_callbacks',
};

/**
 * The version, uptime, processor time, memory, event loop delay and garbage collection of the process, and whether its token keys
 * can be reloaded. They replace the default metrics of prom-client, most of which require no action of an operator.
 */
@Injectable()
export class ProcessMetrics implements MetricsSource, OnApplicationShutdown {
  readonly #delay = monitorEventLoopDelay({ resolution: SAMPLE_INTERVAL_MS });
  readonly #gcSeconds = Object.fromEntries(Object.values(GC_KINDS).map((kind) => [kind, 0]));
  readonly #gcObserver = new PerformanceObserver((list) =>
    list.getEntries().forEach((entry) => this.countGarbageCollection(entry)),
  );

  constructor(private readonly ring: KeyRing) {}

  onApplicationShutdown(): void {
    this.#delay.disable();
    this.#gcObserver.disconnect();
  }

  register(registry: MetricsRegistry): void {
    this.#delay.enable();
    this.#gcObserver.observe({ entryTypes: ['gc'] });
    const version = packageVersion();
    registry.gauge('mooring_info', 'Always 1; the label is the version that runs.', () => [[{ version }, 1]]);
    registry.gauge('mooring_uptime_seconds', 'Seconds since the process started.', () => process.uptime());
    registry.counter('mooring_cpu_seconds_total', 'Seconds of processor time, by mode.', () => {
      const { user, system } = process.cpuUsage();
      return [
        [{ mode: 'user' }, user / 1e6],
        [{ mode: 'system' }, system / 1e6],
      ];
    });
    registry.gauge('mooring_resident_memory_bytes', 'Resident memory of the process.', () =>
      process.memoryUsage.rss(),
    );
    registry.gauge(
      'mooring_event_loop_delay_seconds',
      'Delay of the event loop since the previous scrape: median, 99th percentile and maximum.',
      () => this.readDelays(),
    );
    registry.gauge(
      'mooring_token_keys_trouble',
      '1 if the token keys on disk cannot be used and those loaded before stay in use.',
      () => Number(this.ring.lastError !== null),
    );
    registry.counter('mooring_gc_seconds_total', 'Seconds of garbage collection, by kind.', () =>
      Object.entries(this.#gcSeconds).map(([kind, seconds]) => [{ kind }, seconds] as const),
    );
  }

  private readDelays() {
    const delay = this.#delay;
    const delays = Object.entries(PERCENTILES).map(([stat, percentile]) => {
      // A sample is the time from one timer to the next, which includes the interval.
      const milliseconds = delay.percentile(percentile) / 1e6 - SAMPLE_INTERVAL_MS;
      return [{ stat }, Math.max(0, milliseconds) / 1000] as const;
    });
    delay.reset();
    return delays;
  }

  private countGarbageCollection(entry: PerformanceEntry): void {
    const { detail, duration } = entry as PerformanceEntry & { readonly detail: { readonly kind: number } };
    const kind = GC_KINDS[detail.kind];
    if (kind !== undefined) this.#gcSeconds[kind]! += duration / 1000;
  }
}
