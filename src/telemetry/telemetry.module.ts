import { Module } from '@nestjs/common';
import { TelemetryStore } from './telemetry.store.js';

/** Storage of telemetry blocks. */
@Module({ providers: [TelemetryStore], exports: [TelemetryStore] })
export class TelemetryModule {}
