import { Injectable } from '@nestjs/common';
import { ActivationReads } from '../../heartbeat/activation-reads.js';
import { HeartbeatService } from '../../heartbeat/heartbeat.service.js';
import { Replica } from '../../heartbeat/replica.js';
import { TelemetryStore } from '../../telemetry/telemetry.store.js';
import type { MetricsRegistry, MetricsSource } from './registry.js';

/** Heartbeats by the database that answered, their batch sizes, and the outcomes of their telemetry. */
@Injectable()
export class HeartbeatMetrics implements MetricsSource {
  constructor(
    private readonly heartbeats: HeartbeatService,
    private readonly activations: ActivationReads,
    private readonly replica: Replica,
    private readonly telemetry: TelemetryStore,
  ) {}

  register(registry: MetricsRegistry): void {
    registry.counter(
      'mooring_heartbeats_total',
      'Heartbeats with a genuine token that were answered, by the database that gave the answer.',
      () =>
        Object.entries(this.heartbeats.answersBySource).map(
          ([database, count]) => [{ database }, count] as const,
        ),
    );
    registry.histogram(
      'mooring_batch_size',
      'Heartbeats that one SQL statement handled together, by kind of batch.',
      () => [
        [{ batch: 'bindings' }, this.activations.batchSizes],
        [{ batch: 'replica_bindings' }, this.replica.batchSizes],
        [{ batch: 'telemetry' }, this.telemetry.batchSizes],
      ],
    );
    registry.counter(
      'mooring_telemetry_blocks_total',
      'Telemetry blocks by outcome: stored, refused (not an object, or too large), over_limit (the daily limit is reached), failed (not stored, or too late).',
      () => Object.entries(this.telemetry.blocks).map(([outcome, count]) => [{ outcome }, count] as const),
    );
    registry.counter(
      'mooring_telemetry_members_dropped_total',
      'Telemetry members that were dropped because their value is invalid.',
      () => this.telemetry.droppedMembers,
    );
  }
}
