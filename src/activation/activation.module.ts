import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { KeysModule } from '../keys/keys.module.js';
import { LicensesModule } from '../licenses/licenses.module.js';
import { ManifestModule } from '../manifest/manifest.module.js';
import { ActivationController } from './activation.controller.js';
import { Activation } from './activation.entity.js';
import { ActivationService } from './activation.service.js';
import { AttemptReads } from './attempt-reads.js';

/** Activation of licenses on machines (docs/contract.md#activate). */
@Module({
  imports: [LicensesModule, ManifestModule, KeysModule, TypeOrmModule.forFeature([Activation])],
  controllers: [ActivationController],
  providers: [ActivationService, AttemptReads],
})
export class ActivationModule {}
