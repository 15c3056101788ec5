import { Registry, type Histogram as AnyMetric } from 'prom-client';
import type { Histogram } from '../../core/histogram.js';

type Labels = Readonly<Record<string, string | number>>;
/** One value, or one for each combination of labels; null or undefined if the metric is absent now. */
type Reading = number | null | undefined | readonly (readonly [Labels, number])[];

interface Sample {
  readonly labels: Labels;
  readonly value: number;
  /** The name in the output, if it differs from that of the metric: `…_bucket`, `…_sum`, `…_count`. */
  readonly metricName?: string;
}

/** A provider of metrics. */
export interface MetricsSource {
  /** Registers the metrics with the functions that read them at each scrape. Called once, if METRICS_PORT is set. */
  register(registry: MetricsRegistry): void;
  /** Reads the state that several metrics share, before each scrape. All sources prepare concurrently. It must not throw. */
  prepare?(): Promise<void> | void;
}

/**
 * The metrics of METRICS_PORT. Each scrape reads the values from the services that keep them, so request handling does not
 * depend on Prometheus. The values of a label are a closed set without personal data.
 */
export class MetricsRegistry {
  readonly #registry = new Registry();

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** All metrics in Prometheus's text format. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  counter(name: string, help: string, read: () => Reading): void {
    this.add('counter', name, help, () => samples(read()));
  }

  gauge(name: string, help: string, read: () => Reading): void {
    this.add('gauge', name, help, () => samples(read()));
  }

  histogram(name: string, help: string, read: () => readonly (readonly [Labels, Histogram])[]): void {
    this.add('histogram', name, help, () => read().flatMap((entry) => buckets(name, ...entry)));
  }

  private add(type: string, name: string, help: string, read: () => Sample[]): void {
    const metric = { name, get: async () => ({ name, help, type, values: read() }) };
    // The metric classes of prom-client count events themselves. Its registry reads only these two members of a metric.
    this.#registry.registerMetric(metric as unknown as AnyMetric);
  }
}

function samples(reading: Reading): Sample[] {
  if (reading === null || reading === undefined) return [];
  const entries = typeof reading === 'number' ? [[{}, reading] as const] : reading;
  return entries.map(([labels, value]) => ({ labels, value }));
}

// Prometheus's buckets are cumulative: each counts the observations up to its bound.
function buckets(name: string, labels: Labels, { bounds, counts, sum }: Histogram): Sample[] {
  let cumulative = 0;
  const bucketSamples = counts.map((count, index) => ({
    labels: { ...labels, le: bounds[index] ?? '+Inf' },
    value: (cumulative += count),
    metricName: `${name}_bucket`,
  }));
  return [
    ...bucketSamples,
    { labels, value: sum, metricName: `${name}_sum` },
    { labels, value: cumulative, metricName: `${name}_count` },
  ];
}
