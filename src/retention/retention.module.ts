import { Module } from '@nestjs/common';
import { ErasureModule } from '../erasure/erasure.module.js';
import { RetentionJob } from './retention.job.js';
import { RetentionService } from './retention.service.js';

/** Deletion of data whose retention period has passed (docs/privacy.md#retention). */
@Module({
  imports: [ErasureModule],
  providers: [RetentionService, RetentionJob],
})
export class RetentionModule {}
