import { Module } from '@nestjs/common';
import { MailModule } from '../mail/mail.module.js';
import { ErasureMails } from './erasure-mails.js';
import { ErasureService } from './erasure.service.js';
import { RetentionJob } from './retention.job.js';
import { RetentionService } from './retention.service.js';

@Module({
  imports: [MailModule],
  providers: [RetentionService, RetentionJob, ErasureService, ErasureMails],
  exports: [RetentionService, ErasureService],
})
export class RetentionModule {}
