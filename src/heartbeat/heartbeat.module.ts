import { Module } from '@nestjs/common';
import { KeysModule } from '../keys/keys.module.js';
import { LicensesModule } from '../licenses/licenses.module.js';
import { ManifestModule } from '../manifest/manifest.module.js';
import { ActivationReads } from './activation-reads.js';
import { HeartbeatController } from './heartbeat.controller.js';
import { HeartbeatService } from './heartbeat.service.js';
import { Replica } from './replica.js';
import { TelemetryModule } from '../telemetry/telemetry.module.js';

/** Confirmation of activations (docs/contract.md#heartbeat). */
@Module({
  imports: [LicensesModule, ManifestModule, KeysModule, TelemetryModule],
  controllers: [HeartbeatController],
  providers: [HeartbeatService, ActivationReads, Replica],
  exports: [HeartbeatService, ActivationReads, Replica],
})
export class HeartbeatModule {}
