import { Body, Controller, HttpCode, Post, Req, Res, UseGuards } from '@nestjs/common';
import type { AuthenticationResponseJSON } from '@simplewebauthn/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Config } from '../../core/config.js';
import { setCookie, readCookie, clearCookie } from '../../http/sessions/cookies.js';
import { SessionIgnored } from '../../http/sessions/same-origin.js';
import { CHALLENGE_LIFETIME_MINUTES } from './passkey-challenges.js';
import { PasskeySignIn } from './passkey-sign-in.js';
import { PasskeyAnswerRequest } from './passkeys.dto.js';
import { StaffGuard } from '../identity/staff.guard.js';

/** Sign-in with a passkey, without a session (docs/contract.md#staff). */
@Controller('support/api/session')
@UseGuards(StaffGuard)
export class PasskeySignInController {
  constructor(
    private readonly passkeys: PasskeySignIn,
    private readonly config: Config,
  ) {}

  @Post('options')
  @SessionIgnored()
  @HttpCode(200)
  async options(@Res({ passthrough: true }) reply: FastifyReply) {
    const { id, options } = await this.passkeys.createOptions();
    setCookie(reply, this.config, 'challenge', id, CHALLENGE_LIFETIME_MINUTES * 60);
    return { options };
  }

  @Post()
  @SessionIgnored()
  @HttpCode(204)
  async signIn(
    @Body() { response }: PasskeyAnswerRequest,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const challengeId = readCookie(request, this.config, 'challenge');
    const replaced = readCookie(request, this.config, 'staff');
    const answer = response as unknown as AuthenticationResponseJSON;
    const token = await this.passkeys.signIn(answer, challengeId, replaced);
    clearCookie(reply, this.config, 'challenge');
    setCookie(reply, this.config, 'staff', token);
  }
}
