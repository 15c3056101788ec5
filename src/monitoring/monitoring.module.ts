import { Module } from '@nestjs/common';
import { HeartbeatModule } from '../heartbeat/heartbeat.module.js';
import { KeysModule } from '../keys/keys.module.js';
import { MailModule } from '../mail/mail.module.js';
import { ManifestModule } from '../manifest/manifest.module.js';
import { Backlog } from './job-backlog.js';
import { ConnectionFigures } from './metrics/connection.metrics.js';
import { DataFigures } from './metrics/data.metrics.js';
import type { Measured } from './metrics/registry.js';
import { HeartbeatFigures } from './metrics/heartbeat.metrics.js';
import { MEASURED, Metrics } from './metrics/metrics.service.js';
import { OpsController } from './monitoring.controller.js';
import { PrivacyController } from './privacy/privacy.controller.js';
import { ProcessFigures } from './metrics/process.metrics.js';
import { RequestFigures } from './metrics/request.metrics.js';
import { TelemetryModule } from '../telemetry/telemetry.module.js';
import { WarningsService } from './warnings.service.js';

const FIGURES = [RequestFigures, HeartbeatFigures, ConnectionFigures, DataFigures, ProcessFigures];

@Module({
  imports: [ManifestModule, KeysModule, HeartbeatModule, TelemetryModule, MailModule],
  controllers: [OpsController, PrivacyController],
  providers: [
    WarningsService,
    Backlog,
    ...FIGURES,
    { provide: MEASURED, inject: FIGURES, useFactory: (...figures: Measured[]) => figures },
    Metrics,
  ],
  exports: [WarningsService],
})
export class MonitoringModule {}
