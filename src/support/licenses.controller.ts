import { Body, Controller, Get, HttpCode, Param, Patch, Post, UseGuards } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { findLicenses } from '../activation/license-overview.js';
import { LicensesService } from '../licenses/licenses.service.js';
import { licenseDetail } from './license-detail.js';
import {
  criterion,
  IssueRequest,
  licenseChange,
  LicenseChangeRequest,
  newLicense,
  SearchRequest,
} from './licenses.dto.js';
import type { SignedIn } from '../staff/staff-identity.js';
import { AdminOnly, SignedInStaff, StaffGuard } from '../staff/staff.guard.js';
import { OptionalReasonRequest, ReasonRequest } from '../audit/reason.dto.js';

/** Licenses, in the hands of staff (contract, section 4). Nothing personal stands in an address: searches are posted. */
@Controller('support/api/licenses')
@UseGuards(StaffGuard)
export class LicensesController {
  constructor(
    private readonly dataSource: DataSource,
    private readonly licenses: LicensesService,
  ) {}

  @Post('search')
  @HttpCode(200)
  async search(@Body() request: SearchRequest) {
    return { licenses: await findLicenses(this.dataSource, criterion(request)) };
  }

  @Get(':id')
  async read(@Param('id') id: string) {
    return { license: await licenseDetail(this.dataSource, id) };
  }

  @Post()
  @AdminOnly()
  async issue(@Body() request: IssueRequest, @SignedInStaff() staff: SignedIn) {
    const act = { actor: staff.email, reason: null };
    const { license_id, license_key } = await this.licenses.issue(newLicense(request), act);
    const [license] = await findLicenses(this.dataSource, { id: license_id });
    return { license, license_key };
  }

  @Patch(':id')
  @AdminOnly()
  async change(
    @Param('id') id: string,
    @Body() request: LicenseChangeRequest,
    @SignedInStaff() staff: SignedIn,
  ) {
    await this.licenses.set(id, licenseChange(request), { actor: staff.email, reason: request.reason });
    return { license: await licenseDetail(this.dataSource, id) };
  }

  @Post(':id/send-key')
  @HttpCode(202)
  async sendKey(
    @Param('id') id: string,
    @Body() { reason }: OptionalReasonRequest,
    @SignedInStaff() staff: SignedIn,
  ) {
    await this.licenses.sendKey(id, { actor: staff.email, reason: reason ?? null });
  }

  /** The new key goes to the holder by mail, and to nobody else. */
  @Post(':id/rekey')
  @AdminOnly()
  @HttpCode(202)
  async rekey(@Param('id') id: string, @Body() { reason }: ReasonRequest, @SignedInStaff() staff: SignedIn) {
    await this.licenses.rekey(id, { actor: staff.email, reason });
  }
}
