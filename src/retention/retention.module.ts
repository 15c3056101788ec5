import { Module } from '@nestjs/common';
import { KeysModule } from '../keys/keys.module.js';
import { MailModule } from '../mail/mail.module.js';
import { ErasureMails } from './erasure-mails.js';
import { ErasureRecords } from './erasure-records.js';
import { ErasureService } from './erasure.service.js';
import { RetentionJob } from './retention.job.js';
import { RetentionService } from './retention.service.js';

@Module({
  imports: [KeysModule, MailModule],
  providers: [RetentionService, RetentionJob, ErasureRecords, ErasureService, ErasureMails],
  exports: [RetentionService, ErasureService],
})
export class RetentionModule {}
