import { Controller, Delete, Get, HttpCode, Post, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { DataSource } from 'typeorm';
import { problem } from '../http/problems/problem.js';
import { ErasureService } from '../erasure/erasure.service.js';
import { waitingErasure, waitingView } from '../erasure/erasure.view.js';
import { HolderExport } from './export.service.js';
import { HolderGuard, MailboxProof, SignedInHolder } from './holder.guard.js';
import type { Holder } from './holder.js';

/** What is held about a holder: taken along, and deleted (contract, section 3). */
@Controller('portal/api')
@UseGuards(HolderGuard)
export class HolderDataController {
  constructor(
    private readonly holderExport: HolderExport,
    private readonly erasures: ErasureService,
    private readonly dataSource: DataSource,
  ) {}

  @Get('export')
  @MailboxProof()
  async export(@SignedInHolder() holder: Holder, @Res({ passthrough: true }) reply: FastifyReply) {
    const held = await this.holderExport.of(holder.email!);
    void reply.header('content-disposition', 'attachment; filename="my-license-data.json"');
    return held;
  }

  @Post('erasure')
  @MailboxProof()
  @HttpCode(202)
  async erase(@SignedInHolder() holder: Holder) {
    return { erasure: waitingView(await this.erasures.requestInSession(holder.email!, holder.id)) };
  }

  /** What was carried out meanwhile, or never asked, cannot be taken back: that is no success. */
  @Delete('erasure')
  @MailboxProof()
  @HttpCode(204)
  async takeBack(@SignedInHolder() holder: Holder): Promise<void> {
    const waiting = await waitingErasure(this.dataSource, holder.email!);
    if (!waiting) throw problem('not_found');
    await this.erasures.takeBack(waiting.id);
  }
}
