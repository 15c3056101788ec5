import { Registry, type Histogram as AnyMetric } from 'prom-client';
import type { Histogram } from '../../core/histogram.js';

type Labels = Readonly<Record<string, string | number>>;
/** One value, or one for each combination of labels; nothing where there is none now. */
type Reading = number | null | undefined | readonly (readonly [Labels, number])[];

interface Sample {
  readonly labels: Labels;
  readonly value: number;
  /** Where it is not the metric's own. */
  readonly metricName?: string;
}

/** Something that has figures to show. */
export interface MetricsSource {
  /** Says what is read at each scrape. Called once, where there are metrics at all. */
  measure(figures: MetricsRegistry): void;
  /** What has to be looked up before a scrape. All of them begin in the same moment; none throws. */
  look?(): Promise<void> | void;
}

/**
 * The figures of METRICS_PORT. Each is read where it is kept when somebody asks: nothing on the way of a request knows of
 * Prometheus. A label's values are from a closed set, and none names anyone.
 */
export class MetricsRegistry {
  readonly #registry = new Registry();

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** All of them, in Prometheus's text form. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  /** What only grows, until the process ends. */
  counter(name: string, help: string, read: () => Reading): void {
    this.add('counter', name, help, () => samples(read()));
  }

  gauge(name: string, help: string, read: () => Reading): void {
    this.add('gauge', name, help, () => samples(read()));
  }

  histogram(name: string, help: string, read: () => readonly (readonly [Labels, Histogram])[]): void {
    this.add('histogram', name, help, () => read().flatMap((each) => buckets(name, ...each)));
  }

  private add(type: string, name: string, help: string, read: () => Sample[]): void {
    const metric = { name, get: async () => ({ name, help, type, values: read() }) };
    // The registry asks for no more than this; prom-client's own metrics would have to be told of each event.
    this.#registry.registerMetric(metric as unknown as AnyMetric);
  }
}

function samples(reading: Reading): Sample[] {
  if (reading === null || reading === undefined) return [];
  const labelled = typeof reading === 'number' ? [[{}, reading] as const] : reading;
  return labelled.map(([labels, value]) => ({ labels, value }));
}

// Prometheus's buckets are cumulative.
function buckets(name: string, labels: Labels, { bounds, counts, sum }: Histogram): Sample[] {
  let below = 0;
  const upTo = counts.map((count, index) => ({
    labels: { ...labels, le: bounds[index] ?? '+Inf' },
    value: (below += count),
    metricName: `${name}_bucket`,
  }));
  return [
    ...upTo,
    { labels, value: sum, metricName: `${name}_sum` },
    { labels, value: below, metricName: `${name}_count` },
  ];
}
