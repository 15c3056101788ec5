import { Module } from '@nestjs/common';
import { ErasureModule } from '../erasure/erasure.module.js';
import { RetentionJob } from './retention.job.js';
import { RetentionService } from './retention.service.js';

/** Deletion of data whose keeping period has passed. */
@Module({
  imports: [ErasureModule],
  providers: [RetentionService, RetentionJob],
  exports: [RetentionService],
})
export class RetentionModule {}
