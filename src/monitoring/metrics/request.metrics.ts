import { Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import type { MetricsRegistry, MetricsSource } from './registry.js';

/** What came in and how it was answered. */
@Injectable()
export class RequestMetrics implements MetricsSource {
  constructor(private readonly host: HttpAdapterHost) {}

  measure(figures: MetricsRegistry): void {
    const { traffic } = this.host.httpAdapter.getInstance<FastifyInstance>();
    if (!traffic) return;
    figures.histogram(
      'mooring_http_request_duration_seconds',
      'Seconds to the end of an answer, by route template, method and status; the route none is every unknown one.',
      () => [...traffic.seconds()].map(({ seconds, ...labels }) => [labels, seconds] as const),
    );
    figures.gauge(
      'mooring_http_requests_under_way',
      'Requests whose answer is not ready.',
      () => traffic.load.underWay,
    );
    figures.counter('mooring_http_requests_shed_total', 'Requests turned away, by what was too much.', () =>
      Object.entries(traffic.load.shed).map(([reason, count]) => [{ reason }, count] as const),
    );
    figures.counter(
      'mooring_refusals_total',
      'Problems answered, by code; those to what was not HTTP too, which are in no other figure.',
      () => Object.entries(traffic.refusals).map(([code, count]) => [{ code }, count] as const),
    );
  }
}
