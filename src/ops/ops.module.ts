import { Module } from '@nestjs/common';
import { ManifestModule } from '../manifest/manifest.module.js';
import { OpsController } from './ops.controller.js';
import { WarningsService } from './warnings.service.js';

@Module({
  imports: [ManifestModule],
  controllers: [OpsController],
  providers: [WarningsService],
  exports: [WarningsService],
})
export class OpsModule {}
