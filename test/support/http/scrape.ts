import type { AddressInfo } from 'node:net';
import { expect } from '@jest/globals';
import { MetricsService } from '../../../src/monitoring/metrics/metrics.service.js';
import type { Service } from '../harness.js';

/** The address at which a service with a METRICS_PORT serves its metrics. */
export function metricsUrl({ app }: Service): string {
  return `http://127.0.0.1:${(app.get(MetricsService).address() as AddressInfo).port}`;
}

/** Reads the metrics in their text format. */
export async function scrapeText(service: Service): Promise<string> {
  const response = await fetch(`${metricsUrl(service)}/metrics`);
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    expect.stringMatching(/^text\/plain; version=0\.0\.4/),
  ]);
  return response.text();
}

/** Reads the samples of the metrics, by their names with labels. */
export async function scrape(service: Service): Promise<Record<string, number>> {
  return samplesOf(await scrapeText(service));
}

/** Parses the samples of a scrape, by their names with labels. */
function samplesOf(text: string): Record<string, number> {
  const lines = text.split('\n').filter((line) => line && !line.startsWith('#'));
  return Object.fromEntries(
    lines.map((line) => line.split(/ (?=\S+$)/)).map(([name, value]) => [name!, Number(value)]),
  );
}

/** The samples whose names begin with one of these prefixes. */
export function withPrefixes(samples: Record<string, number>, ...prefixes: string[]): Record<string, number> {
  const kept = Object.entries(samples).filter(([name]) => prefixes.some((prefix) => name.startsWith(prefix)));
  return Object.fromEntries(kept);
}

/** Runs a function. @returns by how much it increased each sample, without unchanged samples */
export async function changesDuring(
  service: Service,
  work: () => Promise<unknown>,
): Promise<Record<string, number>> {
  const before = await scrape(service);
  await work();
  const after = await scrape(service);
  const differences = Object.entries(after).map(
    ([name, value]) => [name, value - (before[name] ?? 0)] as const,
  );
  return Object.fromEntries(differences.filter(([, difference]) => difference !== 0));
}

/** Scrapes until the samples are as wanted, because some are counted only after the response. */
export async function scrapeUntil(
  service: Service,
  wanted: (samples: Record<string, number>) => boolean,
): Promise<Record<string, number>> {
  for (;;) {
    const samples = await scrape(service);
    if (wanted(samples)) return samples;
  }
}

/** The values of each label in a scrape. */
export function labelsOf(text: string): Map<string, Set<string>> {
  const labels = new Map<string, Set<string>>();
  for (const [, name, value] of text.matchAll(/[{,]([a-z_]+)="([^"]*)"/g)) {
    labels.set(name!, (labels.get(name!) ?? new Set()).add(value!));
  }
  return labels;
}
