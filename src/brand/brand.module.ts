import { Module } from '@nestjs/common';
import { BrandController } from './brand.controller.js';
import { Logo } from './logo.js';

/** What the pages and mails show about the product and its vendor. */
@Module({ controllers: [BrandController], providers: [Logo], exports: [Logo] })
export class BrandModule {}
