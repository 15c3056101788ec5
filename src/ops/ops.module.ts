import { Module } from '@nestjs/common';
import { KeysModule } from '../keys/keys.module.js';
import { ManifestModule } from '../manifest/manifest.module.js';
import { OpsController } from './ops.controller.js';
import { WarningsService } from './warnings.service.js';

@Module({
  imports: [ManifestModule, KeysModule],
  controllers: [OpsController],
  providers: [WarningsService],
  exports: [WarningsService],
})
export class OpsModule {}
