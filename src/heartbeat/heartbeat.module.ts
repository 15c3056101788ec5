import { Module } from '@nestjs/common';
import { KeysModule } from '../keys/keys.module.js';
import { LicensesModule } from '../licenses/licenses.module.js';
import { ManifestModule } from '../manifest/manifest.module.js';
import { Bindings } from './bindings.js';
import { HeartbeatController } from './heartbeat.controller.js';
import { HeartbeatService } from './heartbeat.service.js';
import { Replica } from './replica.js';
import { TelemetryStore } from './telemetry.store.js';

/** Heartbeat and telemetry. */
@Module({
  imports: [LicensesModule, ManifestModule, KeysModule],
  controllers: [HeartbeatController],
  providers: [HeartbeatService, Bindings, Replica, TelemetryStore],
  exports: [HeartbeatService, Bindings, Replica, TelemetryStore],
})
export class HeartbeatModule {}
