import { Body, Controller, HttpCode, Param, Post, UseGuards } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { releasedView, ReleaseService } from '../releases/release.service.js';
import { HolderGuard, RequiresMailedCode, CurrentHolder, PageLanguage } from './holder.guard.js';
import { requireOwnActivation, type Holder } from './holder.js';
import { ReleaseRequestBody } from './portal.dto.js';
import { ReleaseRequests } from '../releases/release-requests.js';

/** The activations of a holder's licenses (docs/contract.md#portal). */
@Controller('portal/api/activations/:id')
@UseGuards(HolderGuard)
export class HolderActivationsController {
  constructor(
    private readonly requests: ReleaseRequests,
    private readonly releases: ReleaseService,
    private readonly dataSource: DataSource,
  ) {}

  /** Requests a release by staff. The response is the same for an activation that has ended. */
  @Post('release-request')
  @HttpCode(202)
  async requestRelease(
    @Param('id') requestedId: string,
    @Body() { reason }: ReleaseRequestBody,
    @CurrentHolder() holder: Holder,
    @PageLanguage() language: string | undefined,
  ): Promise<void> {
    const { id, email } = await requireOwnActivation(this.dataSource, holder, requestedId);
    await this.requests.create(id, reason ?? null, email, language);
  }

  @Post('release')
  @RequiresMailedCode()
  @HttpCode(200)
  async release(
    @Param('id') id: string,
    @CurrentHolder() holder: Holder,
    @PageLanguage() language: string | undefined,
  ) {
    return releasedView(await this.releases.releaseForHolder(id, holder.email!, language));
  }
}
