import { Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import type { MetricsRegistry, MetricsSource } from './registry.js';

/** Requests by route, duration and status, the load, and the problems sent as responses. */
@Injectable()
export class RequestMetrics implements MetricsSource {
  constructor(private readonly host: HttpAdapterHost) {}

  register(registry: MetricsRegistry): void {
    const { requestCounts } = this.host.httpAdapter.getInstance<FastifyInstance>();
    // Without METRICS_PORT requests are not counted.
    if (!requestCounts) return;
    registry.histogram(
      'mooring_http_request_duration_seconds',
      'Seconds until the response ended, by route template, method and status; unknown routes have the route "none".',
      () => [...requestCounts.seconds()].map(({ seconds, ...labels }) => [labels, seconds] as const),
    );
    registry.gauge(
      'mooring_http_requests_under_way',
      'Requests whose body has arrived and whose response is not ready yet, without probes and manifests.',
      () => requestCounts.load.underWay,
    );
    registry.counter('mooring_http_requests_shed_total', 'Requests refused because of load, by reason.', () =>
      Object.entries(requestCounts.load.shed).map(([reason, count]) => [{ reason }, count] as const),
    );
    registry.counter(
      'mooring_refusals_total',
      'Problems answered, by code, including the answers to malformed HTTP, which no other metric counts.',
      () => Object.entries(requestCounts.problems).map(([code, count]) => [{ code }, count] as const),
    );
  }
}
