import { Module } from '@nestjs/common';
import { JobWorker } from './job-worker.js';
import { MailService } from './mail.service.js';
import { Mailer } from './mailer.js';

@Module({ providers: [MailService, Mailer, JobWorker], exports: [MailService, JobWorker] })
export class MailModule {}
