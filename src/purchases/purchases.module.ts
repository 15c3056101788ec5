import { Module } from '@nestjs/common';
import { KeysModule } from '../keys/keys.module.js';
import { LicensesModule } from '../licenses/licenses.module.js';
import { RetentionModule } from '../retention/retention.module.js';
import { PurchasesController } from './purchases.controller.js';
import { PurchasesService } from './purchases.service.js';
import { WebhookGuard } from './webhook.guard.js';

@Module({
  imports: [KeysModule, LicensesModule, RetentionModule],
  controllers: [PurchasesController],
  providers: [PurchasesService, WebhookGuard],
})
export class PurchasesModule {}
