import { Body, Controller, Delete, Get, HttpCode, Post, Query, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { DataSource } from 'typeorm';
import { problem } from '../http/problems/problem.js';
import { ErasureService } from '../erasure/erasure.service.js';
import { findWaitingErasure, toWaitingErasure } from '../erasure/erasure.view.js';
import { HolderExportService } from './export.service.js';
import { HolderGuard, RequiresMailedCode, CurrentHolder, PageLanguage } from './holder.guard.js';
import type { Holder } from './holder.js';
import { ErasureConfirmationRequest } from './portal.dto.js';

/** The export and the erasure of a holder's data (docs/contract.md#portal). */
@Controller('portal/api')
@UseGuards(HolderGuard)
export class HolderDataController {
  constructor(
    private readonly holderExport: HolderExportService,
    private readonly erasures: ErasureService,
    private readonly dataSource: DataSource,
  ) {}

  @Get('export')
  @RequiresMailedCode()
  async export(@CurrentHolder() holder: Holder, @Res({ passthrough: true }) reply: FastifyReply) {
    const data = await this.holderExport.create(holder.email!);
    void reply.header('content-disposition', 'attachment; filename="my-license-data.json"');
    return data;
  }

  @Post('erasure')
  @RequiresMailedCode()
  @HttpCode(202)
  async requestErasure(
    @CurrentHolder() holder: Holder,
    @Body() { email }: ErasureConfirmationRequest,
    @PageLanguage() language: string | undefined,
  ) {
    if (email !== undefined && email !== holder.email) throw problem('another_person');
    const request = await this.erasures.requestInSession(holder.email!, holder.session_id, language);
    return { erasure: toWaitingErasure(request) };
  }

  /**
   * Answers `not_found` if no erasure request waits, for example because it is already carried out, or if another request waits
   * than the page showed (`id`): all tabs of a browser share one session, so another holder may have signed in since then.
   */
  @Delete('erasure')
  @RequiresMailedCode()
  @HttpCode(204)
  async cancelErasure(@CurrentHolder() holder: Holder, @Query('id') id: string | undefined): Promise<void> {
    const waiting = await findWaitingErasure(this.dataSource, holder.email!);
    if (!waiting || (id !== undefined && id !== waiting.id)) throw problem('not_found');
    await this.erasures.cancel(waiting.id);
  }
}
