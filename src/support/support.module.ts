import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ActivationModule } from '../activation/activation.module.js';
import { RetentionModule } from '../retention/retention.module.js';
import { ErasuresController } from './erasures.controller.js';
import { FleetController } from './fleet.controller.js';
import { Staff } from './staff.entity.js';
import { StaffGuard } from './staff.guard.js';
import { StaffService } from './staff.service.js';
import { StaffToken } from './staff-token.entity.js';
import { SupportController } from './support.controller.js';

@Module({
  imports: [ActivationModule, RetentionModule, TypeOrmModule.forFeature([Staff, StaffToken])],
  controllers: [SupportController, ErasuresController, FleetController],
  providers: [StaffService, StaffGuard],
  exports: [StaffService],
})
export class SupportModule {}
