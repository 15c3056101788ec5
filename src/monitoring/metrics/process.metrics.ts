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

/** A timer that is due this often says how late it is. */
const RESOLUTION_MS = 10;
const PERCENTILES = { median: 50, p99: 99, max: 100 };
const KINDS: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weak_callbacks',
};

/** What the process costs. Of prom-client's own figures these are the ones an operator acts on; none names the host. */
@Injectable()
export class ProcessMetrics implements MetricsSource, OnApplicationShutdown {
  readonly #delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  readonly #collected = Object.fromEntries(Object.values(KINDS).map((kind) => [kind, 0]));
  readonly #collections = new PerformanceObserver((list) =>
    list.getEntries().forEach((each) => this.collected(each)),
  );

  constructor(private readonly ring: KeyRing) {}

  onApplicationShutdown(): void {
    this.#delay.disable();
    this.#collections.disconnect();
  }

  measure(figures: MetricsRegistry): void {
    this.#delay.enable();
    this.#collections.observe({ entryTypes: ['gc'] });
    const version = packageVersion();
    figures.gauge('mooring_info', 'Always 1; its label says which version runs.', () => [[{ version }, 1]]);
    figures.gauge('mooring_uptime_seconds', 'Seconds since the process began.', () => process.uptime());
    figures.counter('mooring_cpu_seconds_total', 'Seconds of processor time, by mode.', () => {
      const { user, system } = process.cpuUsage();
      return [
        [{ mode: 'user' }, user / 1e6],
        [{ mode: 'system' }, system / 1e6],
      ];
    });
    figures.gauge('mooring_resident_memory_bytes', 'Memory that the process holds.', () =>
      process.memoryUsage.rss(),
    );
    figures.gauge(
      'mooring_event_loop_delay_seconds',
      'How late the event loop was since the scrape before: the median, the 99th percentile and the most.',
      () => this.delays(),
    );
    figures.gauge(
      'mooring_token_keys_trouble',
      '1 where the token keys on disk cannot be used, and those read before are.',
      () => Number(this.ring.trouble !== null),
    );
    figures.counter('mooring_gc_seconds_total', 'Seconds of garbage collection, by kind.', () =>
      Object.entries(this.#collected).map(([kind, seconds]) => [{ kind }, seconds] as const),
    );
  }

  private delays() {
    const delay = this.#delay;
    const read = Object.entries(PERCENTILES).map(([stat, percentile]) => {
      const milliseconds = delay.percentile(percentile) / 1e6 - RESOLUTION_MS;
      return [{ stat }, Math.max(0, milliseconds) / 1000] as const;
    });
    delay.reset();
    return read;
  }

  private collected(entry: PerformanceEntry): void {
    const { detail, duration } = entry as PerformanceEntry & { readonly detail: { readonly kind: number } };
    const kind = KINDS[detail.kind];
    if (kind !== undefined) this.#collected[kind]! += duration / 1000;
  }
}
