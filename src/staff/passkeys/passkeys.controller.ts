import { Body, Controller, Delete, Get, HttpCode, Param, Post, Req, Res, UseGuards } from '@nestjs/common';
import type { RegistrationResponseJSON } from '@simplewebauthn/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Config } from '../../core/config.js';
import { setCookie, readCookie, takeCookieBack } from '../../http/sessions/cookies.js';
import { problem } from '../../http/problems/problem.js';
import { CHALLENGE_MINUTES, PasskeyChallenges } from './passkey-challenges.js';
import { PasskeysService } from './passkeys.service.js';
import { RelyingParty } from './relying-party.js';
import { PasskeyAnswerRequest } from '../sign-in.dto.js';
import type { SignedIn } from '../staff-identity.js';
import { SessionOnly, SignedInStaff, StaffGuard } from '../staff.guard.js';

/** One's own passkeys (contract, section 4). */
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
  async list(@SignedInStaff() staff: SignedIn) {
    return { passkeys: await this.passkeys.list(staff.id) };
  }

  @Post('options')
  @HttpCode(200)
  async options(@SignedInStaff() staff: SignedIn, @Res({ passthrough: true }) reply: FastifyReply) {
    const { id, challenge } = await this.challenges.make(staff.id);
    const existing = await this.passkeys.credentialIds(staff.id);
    setCookie(reply, this.config, 'challenge', id, CHALLENGE_MINUTES * 60);
    return { options: await this.relyingParty.enrolmentOptions(challenge, staff, existing) };
  }

  @Post()
  async enrol(
    @SignedInStaff() staff: SignedIn,
    @Body() { response }: PasskeyAnswerRequest,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const challenge = await this.challenges.spend(readCookie(request, this.config, 'challenge'), staff.id);
    if (!challenge) throw problem('passkey_invalid');
    const passkey = await this.passkeys.enrol(
      staff,
      response as unknown as RegistrationResponseJSON,
      challenge,
    );
    takeCookieBack(reply, this.config, 'challenge');
    return { passkey };
  }

  @Delete(':id')
  @HttpCode(204)
  async remove(@Param('id') id: string, @SignedInStaff() staff: SignedIn) {
    await this.passkeys.remove(staff, id);
  }
}
