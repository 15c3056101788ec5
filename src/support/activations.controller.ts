import { Body, Controller, HttpCode, Param, Post, UseGuards } from '@nestjs/common';
import { activationView } from '../activation/license-overview.js';
import { ReleaseService } from '../releases/release.service.js';
import type { SignedIn } from '../staff/staff-identity.js';
import { SignedInStaff, StaffGuard } from '../staff/staff.guard.js';
import { ReasonRequest } from '../audit/reason.dto.js';

/** Bindings, in the hands of staff (contract, section 4). */
@Controller('support/api/activations')
@UseGuards(StaffGuard)
export class ActivationsController {
  constructor(private readonly releases: ReleaseService) {}

  @Post(':id/release')
  @HttpCode(200)
  async release(
    @Param('id') id: string,
    @Body() { reason }: ReasonRequest,
    @SignedInStaff() staff: SignedIn,
  ) {
    return { activation: activationView(await this.releases.release(id, { actor: staff.email, reason })) };
  }
}
