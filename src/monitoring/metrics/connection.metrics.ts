import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { poolOf } from '../../database/data-source.js';
import { Replica } from '../../heartbeat/replica.js';
import type { MetricsRegistry, MetricsSource } from './registry.js';

interface Pool {
  readonly labels: { readonly database: string };
  readonly inUse: number;
  readonly idle: number;
  readonly max: number;
  readonly waiting: number;
}

/** The state of the connection pools, and whether the replica answers heartbeats. */
@Injectable()
export class ConnectionMetrics implements MetricsSource {
  #pools: readonly Pool[] = [];

  constructor(
    private readonly dataSource: DataSource,
    private readonly replica: Replica,
  ) {}

  // This method does not wait, and this source precedes `DataMetrics` in the list of sources. So the state is read
  // before the queries of a scrape take a connection.
  prepare(): void {
    const { pool: replica } = this.replica;
    const pools = { primary: poolOf(this.dataSource), ...(replica && { replica }) };
    this.#pools = Object.entries(pools).map(
      ([database, { totalCount, idleCount, waitingCount, options }]) => ({
        labels: { database },
        inUse: totalCount - idleCount,
        idle: idleCount,
        max: options.max,
        waiting: waitingCount,
      }),
    );
  }

  register(registry: MetricsRegistry): void {
    const forEachPool = (read: (pool: Pool) => number) => () =>
      this.#pools.map((pool) => [pool.labels, read(pool)] as const);
    registry.gauge(
      'mooring_database_connections_in_use',
      'Connections that serve a request or are being opened.',
      forEachPool(({ inUse }) => inUse),
    );
    registry.gauge(
      'mooring_database_connections_idle',
      'Open connections without work.',
      forEachPool(({ idle }) => idle),
    );
    registry.gauge(
      'mooring_database_connections_max',
      'Connections that this pool may open; the instance opens others for jobs and retention.',
      forEachPool(({ max }) => max),
    );
    registry.gauge(
      'mooring_database_callers_waiting',
      'Callers that wait for a connection.',
      forEachPool(({ waiting }) => waiting),
    );
    registry.gauge(
      'mooring_replica_up',
      '1 if the replica answers heartbeats, 0 if it is unavailable or too far behind.',
      () => (this.replica.pool ? Number(!this.replica.isDegraded) : null),
    );
  }
}
