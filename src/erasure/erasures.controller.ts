import { Body, Controller, Get, HttpCode, Param, Post, UseGuards } from '@nestjs/common';
import { ErasureService } from './erasure.service.js';
import { ErasureRequest } from './erasures.dto.js';
import type { AuthenticatedStaff } from '../staff/identity/staff-identity.js';
import { AdminOnly, CurrentStaff, StaffGuard } from '../staff/identity/staff.guard.js';

/** Erasure requests for staff (docs/contract.md#staff). */
@Controller('support/api/erasures')
@UseGuards(StaffGuard)
export class ErasuresController {
  constructor(private readonly erasures: ErasureService) {}

  @Get()
  async list() {
    return { erasures: await this.erasures.list() };
  }

  /** Creates a request that is due at once. A job carries it out. */
  @Post()
  @AdminOnly()
  @HttpCode(202)
  async request(@Body() { email, reason }: ErasureRequest, @CurrentStaff() staff: AuthenticatedStaff) {
    return { erasure: await this.erasures.request(email, { actor: staff.email, reason }) };
  }

  @Post(':id/run')
  @AdminOnly()
  @HttpCode(200)
  async run(@Param('id') id: string, @CurrentStaff() staff: AuthenticatedStaff) {
    return { erasure: await this.erasures.run(id, { actor: staff.email, reason: null }) };
  }
}
