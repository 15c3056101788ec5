import { Module } from '@nestjs/common';
import { ErasureModule } from '../erasure/erasure.module.js';
import { KeysModule } from '../keys/keys.module.js';
import { LicensesModule } from '../licenses/licenses.module.js';
import { PurchasesController } from './purchases.controller.js';
import { PurchasesService } from './purchases.service.js';
import { WebhookGuard } from './webhook.guard.js';

@Module({
  imports: [KeysModule, LicensesModule, ErasureModule],
  controllers: [PurchasesController],
  providers: [PurchasesService, WebhookGuard],
})
export class PurchasesModule {}
