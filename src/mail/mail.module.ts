import { Module } from '@nestjs/common';
import { BrandModule } from '../brand/brand.module.js';
import { LanguagesModule } from '../languages/languages.module.js';
import { JobWorker } from './job-worker.js';
import { MailService } from './mail.service.js';
import { Mailer } from './mailer.js';

@Module({
  imports: [BrandModule, LanguagesModule],
  providers: [MailService, Mailer, JobWorker],
  exports: [MailService, JobWorker],
})
export class MailModule {}
