import { Module } from '@nestjs/common';
import { HeartbeatModule } from '../heartbeat/heartbeat.module.js';
import { KeysModule } from '../keys/keys.module.js';
import { LanguagesModule } from '../languages/languages.module.js';
import { MailModule } from '../mail/mail.module.js';
import { ManifestModule } from '../manifest/manifest.module.js';
import { JobBacklog } from './warnings/job-backlog.js';
import { ConnectionMetrics } from './metrics/connection.metrics.js';
import { DataMetrics } from './metrics/data.metrics.js';
import type { MetricsSource } from './metrics/registry.js';
import { HeartbeatMetrics } from './metrics/heartbeat.metrics.js';
import { METRICS_SOURCES, MetricsService } from './metrics/metrics.service.js';
import { MonitoringController } from './monitoring.controller.js';
import { PrivacyController } from './privacy/privacy.controller.js';
import { ProcessMetrics } from './metrics/process.metrics.js';
import { RequestMetrics } from './metrics/request.metrics.js';
import { ServiceStatusController } from './warnings/service-status.controller.js';
import { StaffModule } from '../staff/staff.module.js';
import { TelemetryModule } from '../telemetry/telemetry.module.js';
import { WarningsService } from './warnings/warnings.service.js';

const SOURCES = [RequestMetrics, HeartbeatMetrics, ConnectionMetrics, DataMetrics, ProcessMetrics];

@Module({
  imports: [
    LanguagesModule,
    ManifestModule,
    KeysModule,
    HeartbeatModule,
    TelemetryModule,
    MailModule,
    StaffModule,
  ],
  controllers: [MonitoringController, PrivacyController, ServiceStatusController],
  providers: [
    WarningsService,
    JobBacklog,
    ...SOURCES,
    { provide: METRICS_SOURCES, inject: SOURCES, useFactory: (...sources: MetricsSource[]) => sources },
    MetricsService,
  ],
})
export class MonitoringModule {}
