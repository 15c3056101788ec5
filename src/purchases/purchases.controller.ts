import { Body, Controller, HttpCode, Post, UseGuards } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { RAW_BODY } from '../http/parsing/json-body.js';
import { PurchaseReport } from './purchase.dto.js';
import { PurchasesService } from './purchases.service.js';
import { WebhookGuard } from './webhook.guard.js';

/**
 * `POST /v1/purchases`: reports about purchases, which the vendor's glue code signs and sends for the payment
 * processor. A replay gets the same response and changes nothing.
 */
@Controller('v1/purchases')
@UseGuards(WebhookGuard)
export class PurchasesController {
  constructor(private readonly purchases: PurchasesService) {}

  @Post()
  @HttpCode(204)
  @RouteConfig(RAW_BODY)
  async record(@Body() report: PurchaseReport): Promise<void> {
    await this.purchases.record(report);
  }
}
