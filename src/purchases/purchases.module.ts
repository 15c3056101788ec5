import { Module } from '@nestjs/common';
import { LicensesModule } from '../licenses/licenses.module.js';
import { PurchasesController } from './purchases.controller.js';
import { PurchasesService } from './purchases.service.js';
import { WebhookGuard } from './webhook.guard.js';

@Module({
  imports: [LicensesModule],
  controllers: [PurchasesController],
  providers: [PurchasesService, WebhookGuard],
})
export class PurchasesModule {}
