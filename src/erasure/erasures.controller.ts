import { Body, Controller, Get, HttpCode, Param, Post, UseGuards } from '@nestjs/common';
import { canonicalEmail } from '../licenses/email.js';
import { ErasureService } from './erasure.service.js';
import { ErasureRequest } from './erasures.dto.js';
import type { SignedIn } from '../staff/staff-identity.js';
import { AdminOnly, SignedInStaff, StaffGuard } from '../staff/staff.guard.js';

/** Deletion requests (contract, section 4). */
@Controller('support/api/erasures')
@UseGuards(StaffGuard)
export class ErasuresController {
  constructor(private readonly erasures: ErasureService) {}

  @Get()
  async list() {
    return { erasures: await this.erasures.list() };
  }

  /** A job carries it out at once. */
  @Post()
  @AdminOnly()
  @HttpCode(202)
  async request(@Body() { email, reason }: ErasureRequest, @SignedInStaff() staff: SignedIn) {
    return { erasure: await this.erasures.request(canonicalEmail(email)!, { actor: staff.email, reason }) };
  }

  @Post(':id/run')
  @AdminOnly()
  @HttpCode(200)
  async run(@Param('id') id: string, @SignedInStaff() staff: SignedIn) {
    return { erasure: await this.erasures.run(id, { actor: staff.email, reason: null }) };
  }
}
