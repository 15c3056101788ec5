import { Module } from '@nestjs/common';
import { RetentionJob } from './retention.job.js';
import { RetentionService } from './retention.service.js';

@Module({ providers: [RetentionService, RetentionJob], exports: [RetentionService] })
export class RetentionModule {}
