import { Module } from '@nestjs/common';
import { KeysModule } from '../keys/keys.module.js';
import { Coverage } from './coverage.js';
import { ManifestController } from './manifest.controller.js';
import { ManifestResponses } from './manifest-responses.js';
import { ManifestService } from './manifest.service.js';

@Module({
  imports: [KeysModule],
  controllers: [ManifestController],
  providers: [ManifestService, Coverage, ManifestResponses],
  exports: [ManifestService, Coverage],
})
export class ManifestModule {}
