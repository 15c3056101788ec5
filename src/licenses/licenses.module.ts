import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { KeysModule } from '../keys/keys.module.js';
import { License } from './license.entity.js';
import { LicensesService } from './licenses.service.js';

@Module({
  imports: [KeysModule, TypeOrmModule.forFeature([License])],
  providers: [LicensesService],
  exports: [LicensesService],
})
export class LicensesModule {}
