import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { poolOf } from '../../database/data-source.js';
import { Replica } from '../../heartbeat/replica.js';
import type { MetricsRegistry, MetricsSource } from './registry.js';

interface Pool {
  readonly labels: { readonly database: string };
  readonly inUse: number;
  readonly idle: number;
  readonly most: number;
  readonly waiting: number;
}

/** The connections of requests, and whether the replica is asked. */
@Injectable()
export class ConnectionMetrics implements MetricsSource {
  #pools: readonly Pool[] = [];

  constructor(
    private readonly dataSource: DataSource,
    private readonly replica: Replica,
  ) {}

  // Before the scrape itself asks the database, and waits for a connection as anyone does.
  look(): void {
    const { pool: replica } = this.replica;
    const pools = { primary: poolOf(this.dataSource), ...(replica && { replica }) };
    this.#pools = Object.entries(pools).map(
      ([database, { totalCount, idleCount, waitingCount, options }]) => ({
        labels: { database },
        inUse: totalCount - idleCount,
        idle: idleCount,
        most: options.max,
        waiting: waitingCount,
      }),
    );
  }

  measure(figures: MetricsRegistry): void {
    const each = (read: (pool: Pool) => number) => () =>
      this.#pools.map((pool) => [pool.labels, read(pool)] as const);
    figures.gauge(
      'mooring_database_connections_in_use',
      'Connections that work for a request, or are being made.',
      each(({ inUse }) => inUse),
    );
    figures.gauge(
      'mooring_database_connections_idle',
      'Connections that wait for work.',
      each(({ idle }) => idle),
    );
    figures.gauge(
      'mooring_database_connections_max',
      'Connections that this instance may have.',
      each(({ most }) => most),
    );
    figures.gauge(
      'mooring_database_callers_waiting',
      'Callers that wait for a connection.',
      each(({ waiting }) => waiting),
    );
    figures.gauge(
      'mooring_replica_up',
      '1 where the replica answers heartbeats, 0 where it is away or too far behind.',
      () => (this.replica.pool ? Number(!this.replica.isDegraded) : null),
    );
  }
}
