import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { KeysModule } from '../keys/keys.module.js';
import { Coverage } from './coverage.js';
import { PreparedRoute } from '../http/responses/prepared-response.js';
import { ManifestController } from './manifest.controller.js';
import { ManifestResponses } from './manifest-responses.js';
import { Manifest } from './manifest.entity.js';
import { ManifestService } from './manifest.service.js';

@Module({
  imports: [KeysModule, TypeOrmModule.forFeature([Manifest])],
  controllers: [ManifestController],
  providers: [
    ManifestService,
    Coverage,
    ManifestResponses,
    { provide: PreparedRoute, useExisting: ManifestResponses },
  ],
  exports: [ManifestService, Coverage, PreparedRoute],
})
export class ManifestModule {}
