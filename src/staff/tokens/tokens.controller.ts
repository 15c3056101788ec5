import { Body, Controller, Get, HttpCode, Param, Post, UseGuards } from '@nestjs/common';
import type { AuthenticatedStaff } from '../identity/staff-identity.js';
import { StaffTokensService } from './staff-tokens.service.js';
import { AdminOnly, CurrentStaff, StaffGuard } from '../identity/staff.guard.js';
import { ReasonRequest } from '../../audit/reason.dto.js';

/** Staff tokens, for scripts. Only the command line creates them (docs/contract.md#staff). */
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
  async revoke(
    @Param('id') id: string,
    @Body() { reason }: ReasonRequest,
    @CurrentStaff() staff: AuthenticatedStaff,
  ) {
    await this.tokens.revoke(id, { actor: staff.email, reason });
  }
}
