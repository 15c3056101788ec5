import { Injectable } from '@nestjs/common';
import { ActivationReads } from '../../heartbeat/activation-reads.js';
import { HeartbeatService } from '../../heartbeat/heartbeat.service.js';
import { Replica } from '../../heartbeat/replica.js';
import { TelemetryStore } from '../../telemetry/telemetry.store.js';
import type { MetricsRegistry, MetricsSource } from './registry.js';

/** Who answered heartbeats, how many shared a statement, and what became of their telemetry. */
@Injectable()
export class HeartbeatMetrics implements MetricsSource {
  constructor(
    private readonly heartbeats: HeartbeatService,
    private readonly bindings: ActivationReads,
    private readonly replica: Replica,
    private readonly telemetry: TelemetryStore,
  ) {}

  measure(figures: MetricsRegistry): void {
    figures.counter(
      'mooring_heartbeats_total',
      'Heartbeats of genuine tokens that were answered, yes or no, by the database whose word it was.',
      () =>
        Object.entries(this.heartbeats.answersBySource).map(
          ([database, count]) => [{ database }, count] as const,
        ),
    );
    figures.histogram('mooring_batch_size', 'Heartbeats that shared a statement, by statement.', () => [
      [{ batch: 'bindings' }, this.bindings.batchSizes],
      [{ batch: 'replica_bindings' }, this.replica.batchSizes],
      [{ batch: 'telemetry' }, this.telemetry.batchSizes],
    ]);
    figures.counter(
      'mooring_telemetry_blocks_total',
      'Telemetry blocks: stored, refused (no object, too large), over_limit (of the day), or failed (no commit).',
      () => Object.entries(this.telemetry.blocks).map(([outcome, count]) => [{ outcome }, count] as const),
    );
    figures.counter(
      'mooring_telemetry_members_dropped_total',
      'Known telemetry members that were dropped for their value.',
      () => this.telemetry.droppedMembers,
    );
  }
}
