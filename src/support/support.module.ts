import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ActivationModule } from '../activation/activation.module.js';
import { Staff } from './staff.entity.js';
import { StaffGuard } from './staff.guard.js';
import { StaffService } from './staff.service.js';
import { StaffToken } from './staff-token.entity.js';
import { SupportController } from './support.controller.js';

@Module({
  imports: [ActivationModule, TypeOrmModule.forFeature([Staff, StaffToken])],
  controllers: [SupportController],
  providers: [StaffService, StaffGuard],
  exports: [StaffService],
})
export class SupportModule {}
