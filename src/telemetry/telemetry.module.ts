import { Module } from '@nestjs/common';
import { TelemetryStore } from './telemetry.store.js';

@Module({ providers: [TelemetryStore], exports: [TelemetryStore] })
export class TelemetryModule {}
