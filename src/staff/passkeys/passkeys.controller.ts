import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  Param,
  Patch,
  Post,
  Req,
  Res,
  UseGuards,
} from '@nestjs/common';
import type { RegistrationResponseJSON } from '@simplewebauthn/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Config } from '../../core/config.js';
import { setCookie, readCookie, clearCookie } from '../../http/sessions/cookies.js';
import { problem } from '../../http/problems/problem.js';
import { CHALLENGE_LIFETIME_MINUTES, PasskeyChallenges } from './passkey-challenges.js';
import { PasskeysService } from './passkeys.service.js';
import { PasskeyAnswerRequest, PasskeyRenameRequest } from './passkeys.dto.js';
import { RelyingParty } from './relying-party.js';
import type { AuthenticatedStaff } from '../identity/staff-identity.js';
import { SessionOnly, CurrentStaff, StaffGuard } from '../identity/staff.guard.js';

/** The passkeys of the signed-in staff member (docs/contract.md#staff). */
@Controller('support/api/passkeys')
@UseGuards(StaffGuard)
@SessionOnly()
export class PasskeysController {
  constructor(
    private readonly passkeys: PasskeysService,
    private readonly challenges: PasskeyChallenges,
    private readonly relyingParty: RelyingParty,
    private readonly config: Config,
  ) {}

  @Get()
  async list(@CurrentStaff() staff: AuthenticatedStaff) {
    return { passkeys: await this.passkeys.list(staff.id) };
  }

  @Post('options')
  @HttpCode(200)
  async options(@CurrentStaff() staff: AuthenticatedStaff, @Res({ passthrough: true }) reply: FastifyReply) {
    const { id, bytes } = this.challenges.create(staff.id);
    const existing = await this.passkeys.readCredentialIds(staff.id);
    setCookie(reply, this.config, 'challenge', id, CHALLENGE_LIFETIME_MINUTES * 60);
    return { options: await this.relyingParty.createRegistrationOptions(bytes, staff, existing) };
  }

  @Post()
  async register(
    @CurrentStaff() staff: AuthenticatedStaff,
    @Body() { response }: PasskeyAnswerRequest,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const challenge = this.challenges.find(readCookie(request, this.config, 'challenge'), staff.id);
    if (!challenge) throw problem('passkey_invalid');
    const passkey = await this.passkeys.register(
      staff,
      response as unknown as RegistrationResponseJSON,
      challenge,
    );
    clearCookie(reply, this.config, 'challenge');
    return { passkey };
  }

  @Patch(':id')
  async rename(
    @Param('id') id: string,
    @Body() { name }: PasskeyRenameRequest,
    @CurrentStaff() staff: AuthenticatedStaff,
  ) {
    return { passkey: await this.passkeys.rename(staff, id, name) };
  }

  @Delete(':id')
  @HttpCode(204)
  async remove(@Param('id') id: string, @CurrentStaff() staff: AuthenticatedStaff) {
    await this.passkeys.remove(staff, id);
  }
}
