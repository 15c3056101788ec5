import { Module } from '@nestjs/common';
import { JobWorker } from './job-worker.js';
import { MailService } from './mail.service.js';
import { Postman } from './mailer.js';

@Module({ providers: [MailService, Postman, JobWorker], exports: [MailService, JobWorker] })
export class MailModule {}
