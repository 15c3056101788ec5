import { Controller, Get, HttpCode, Param, Post, UseGuards } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DAY_SECONDS } from '../core/clock.js';
import { RateLimit } from '../http/limits/rate-limit.js';
import { problem } from '../http/problems/problem.js';
import { LicensesService } from '../licenses/licenses.service.js';
import { HolderGuard, CurrentHolder, PageLanguage } from './holder.guard.js';
import { requireOwnLicense, type Holder } from './holder.js';
import { HolderOverviewService } from './overview.service.js';

/** A holder's licenses (docs/contract.md#portal). */
@Controller('portal/api/licenses')
@UseGuards(HolderGuard)
export class HolderLicensesController {
  // Limits how often the key of a license is mailed: a person who knows the key and is not the holder could fill the holder's
  // mailbox.
  readonly #keyMails = new RateLimit(10, DAY_SECONDS);

  constructor(
    private readonly overview: HolderOverviewService,
    private readonly licenses: LicensesService,
    private readonly dataSource: DataSource,
  ) {}

  /** Returns what `GET /portal/api/session` returns, for clients that expect 401 without a session. */
  @Get()
  async list(@CurrentHolder() holder: Holder) {
    const overview = await this.overview.read(holder);
    if (!overview) throw problem('sign_in_required');
    return overview;
  }

  @Post(':id/send-key')
  @HttpCode(202)
  async sendKey(
    @Param('id') requestedId: string,
    @CurrentHolder() holder: Holder,
    @PageLanguage() language: string | undefined,
  ): Promise<void> {
    const { id } = await requireOwnLicense(this.dataSource, holder, requestedId);
    await this.#keyMails.countUnlessFailed(id, () => this.licenses.sendKey(id, undefined, language));
  }
}
