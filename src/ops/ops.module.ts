import { Module } from '@nestjs/common';
import { HeartbeatModule } from '../heartbeat/heartbeat.module.js';
import { KeysModule } from '../keys/keys.module.js';
import { ManifestModule } from '../manifest/manifest.module.js';
import { Metrics } from './metrics.js';
import { OpsController } from './ops.controller.js';
import { PrivacyController } from './privacy.controller.js';
import { WarningsService } from './warnings.service.js';

@Module({
  imports: [ManifestModule, KeysModule, HeartbeatModule],
  controllers: [OpsController, PrivacyController],
  providers: [WarningsService, Metrics],
  exports: [WarningsService],
})
export class OpsModule {}
