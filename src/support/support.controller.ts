import { Body, Controller, HttpCode, Param, Post, UseGuards } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { bindingView, findLicenses, type LicenseQuery } from '../activation/license-overview.js';
import { ReleaseService } from '../activation/release.service.js';
import { invalidMembers } from '../http/problem.js';
import { canonicalEmail } from '../licenses/email.js';
import { SignedInStaff, StaffGuard, type SignedIn } from './staff.guard.js';
import { ReleaseRequest, SearchRequest } from './support.dto.js';

const CRITERIA = ['email', 'license_key', 'transaction_id', 'activation_id'];

/** The staff API (contract, section 4). Nothing personal stands in an address: searches are posted. */
@Controller('support/api')
@UseGuards(StaffGuard)
export class SupportController {
  constructor(
    private readonly dataSource: DataSource,
    private readonly releases: ReleaseService,
  ) {}

  @Post('licenses/search')
  @HttpCode(200)
  async search(@Body() request: SearchRequest) {
    return { licenses: await findLicenses(this.dataSource, criterion(request)) };
  }

  @Post('activations/:id/release')
  @HttpCode(200)
  async release(
    @Param('id') id: string,
    @Body() { reason }: ReleaseRequest,
    @SignedInStaff() staff: SignedIn,
  ) {
    return { activation: bindingView(await this.releases.release(id, { actor: staff.email, reason })) };
  }
}

function criterion({ email, license_key, transaction_id, activation_id }: SearchRequest): LicenseQuery {
  const given: LicenseQuery = {
    ...(email !== undefined && { email: canonicalEmail(email)! }),
    ...(license_key !== undefined && { license_key }),
    ...(transaction_id !== undefined && { transaction_id }),
    ...(activation_id !== undefined && { activation_id }),
  };
  const names = Object.keys(given);
  if (names.length === 1) return given;
  const wrong = names.length > 0 ? names : CRITERIA;
  throw invalidMembers(
    Object.fromEntries(wrong.map((name) => [name, `give exactly one of ${CRITERIA.join(', ')}`])),
  );
}
