import { Body, Controller, HttpCode, Param, Post, UseGuards } from '@nestjs/common';
import { releasedView, ReleaseService } from '../../releases/release.service.js';
import type { AuthenticatedStaff } from '../../staff/identity/staff-identity.js';
import { ChecksStaffIdHeader, CurrentStaff, StaffGuard } from '../../staff/identity/staff.guard.js';
import { ReasonRequest } from '../../audit/reason.dto.js';

/** Releases of activations by staff (docs/contract.md#staff). */
@Controller('support/api/activations')
@UseGuards(StaffGuard)
export class ActivationsController {
  constructor(private readonly releases: ReleaseService) {}

  @Post(':id/release')
  @ChecksStaffIdHeader()
  @HttpCode(200)
  async release(
    @Param('id') id: string,
    @Body() { reason }: ReasonRequest,
    @CurrentStaff() staff: AuthenticatedStaff,
  ) {
    return releasedView(await this.releases.release(id, { actor: staff.email, reason }));
  }
}
