import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { KeysModule } from '../keys/keys.module.js';
import { MailModule } from '../mail/mail.module.js';
import { LicenseMails } from './license-mails.js';
import { License } from './license.entity.js';
import { LicensesService } from './licenses.service.js';

@Module({
  imports: [KeysModule, MailModule, TypeOrmModule.forFeature([License])],
  providers: [LicensesService, LicenseMails],
  exports: [LicensesService],
})
export class LicensesModule {}
