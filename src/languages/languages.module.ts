import { Module } from '@nestjs/common';
import { LanguagesController } from './languages.controller.js';
import { Languages } from './languages.service.js';

/** The languages of the portal, of the privacy page and of mails. */
@Module({ controllers: [LanguagesController], providers: [Languages], exports: [Languages] })
export class LanguagesModule {}
