import { Body, Controller, Get, HttpCode, Param, Post, UseGuards } from '@nestjs/common';
import type { SignedIn } from '../staff-identity.js';
import { StaffTokensService } from './staff-tokens.service.js';
import { AdminOnly, SignedInStaff, StaffGuard } from '../staff.guard.js';
import { ReasonRequest } from '../../audit/reason.dto.js';

/** The tokens of the staff's scripts; they are made by the command line alone (contract, section 4). */
@Controller('support/api/tokens')
@UseGuards(StaffGuard)
export class TokensController {
  constructor(private readonly tokens: StaffTokensService) {}

  @Get()
  @AdminOnly()
  async list() {
    return { tokens: await this.tokens.list() };
  }

  @Post(':id/revoke')
  @AdminOnly()
  @HttpCode(204)
  async revoke(@Param('id') id: string, @Body() { reason }: ReasonRequest, @SignedInStaff() staff: SignedIn) {
    await this.tokens.revoke(id, { actor: staff.email, reason });
  }
}
