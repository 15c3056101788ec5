import { Body, Controller, HttpCode, Param, Post, UseGuards } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { activationView } from '../activation/license-overview.js';
import { ReleaseService } from '../releases/release.service.js';
import { HolderGuard, MailboxProof, SignedInHolder } from './holder.guard.js';
import { demandActivation, type Holder } from './holder.js';
import { AskRequest, isBlank } from './portal.dto.js';
import { ReleaseRequests } from '../releases/release-requests.js';

/** The machines of a holder's licenses (contract, section 3). */
@Controller('portal/api/activations/:id')
@UseGuards(HolderGuard)
export class HolderActivationsController {
  constructor(
    private readonly requests: ReleaseRequests,
    private readonly releases: ReleaseService,
    private readonly dataSource: DataSource,
  ) {}

  /** One that has ended needs no asking any more: the same answer. */
  @Post('release-request')
  @HttpCode(202)
  async ask(
    @Param('id') id: string,
    @Body() { reason }: AskRequest,
    @SignedInHolder() holder: Holder,
  ): Promise<void> {
    await demandActivation(this.dataSource, holder, id);
    await this.requests.create(id, isBlank(reason) ? null : reason!.trim(), holder.email);
  }

  @Post('release')
  @MailboxProof()
  @HttpCode(200)
  async release(@Param('id') id: string, @SignedInHolder() holder: Holder) {
    return { activation: activationView(await this.releases.releaseForHolder(id, holder.email!)) };
  }
}
