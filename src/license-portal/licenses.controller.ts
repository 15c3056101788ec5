import { Controller, Get, HttpCode, Param, Post, UseGuards } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { RateLimit } from '../http/limits/rate-limit.js';
import { LicensesService } from '../licenses/licenses.service.js';
import { HolderGuard, SignedInHolder } from './holder.guard.js';
import { demandLicense, type Holder } from './holder.js';
import { HolderOverview } from './overview.service.js';

const DAY_SECONDS = 86_400;

/** A holder's licenses (contract, section 3). */
@Controller('portal/api/licenses')
@UseGuards(HolderGuard)
export class HolderLicensesController {
  // A key that lies on many machines must not fill its owner's mailbox.
  readonly #keyMails = new RateLimit(10, DAY_SECONDS);

  constructor(
    private readonly overview: HolderOverview,
    private readonly licenses: LicensesService,
    private readonly dataSource: DataSource,
  ) {}

  @Get()
  async list(@SignedInHolder() holder: Holder) {
    return this.overview.of(holder);
  }

  @Post(':id/send-key')
  @HttpCode(202)
  async sendKey(@Param('id') named: string, @SignedInHolder() holder: Holder): Promise<void> {
    const id = await demandLicense(this.dataSource, holder, named);
    this.#keyMails.count(id);
    await this.licenses.sendKey(id);
  }
}
