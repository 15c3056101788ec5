import { Module } from '@nestjs/common';
import { KeysModule } from '../keys/keys.module.js';
import { MailModule } from '../mail/mail.module.js';
import { StaffModule } from '../staff/staff.module.js';
import { ErasureMails } from './erasure-mails.js';
import { ErasureRecords } from './erasure-records.js';
import { ErasureReplay } from './erasure-replay.js';
import { ErasureService } from './erasure.service.js';
import { ErasuresController } from './erasures.controller.js';

/** Erasure of all data about one e-mail address, on request (docs/privacy.md#erasure). */
@Module({
  imports: [KeysModule, MailModule, StaffModule],
  controllers: [ErasuresController],
  providers: [ErasureRecords, ErasureService, ErasureMails, ErasureReplay],
  exports: [ErasureService],
})
export class ErasureModule {}
