import { Body, Controller, HttpCode, Post, Req, Res, UseGuards } from '@nestjs/common';
import type { AuthenticationResponseJSON } from '@simplewebauthn/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Config } from '../config.js';
import { giveCookie, readCookie, takeCookieBack } from '../http/cookies.js';
import { problem } from '../http/problem.js';
import { BeforeSignIn } from '../http/same-origin.js';
import { CHALLENGE_MINUTES, PasskeyChallenges } from './passkey-challenges.js';
import { PasskeySignIn } from './passkey-sign-in.js';
import { RelyingParty } from './relying-party.js';
import { PasskeyAnswerRequest } from './sign-in.dto.js';
import { StaffGuard } from './staff.guard.js';

/** Signing in with a passkey: anyone may call these (contract, section 4). */
@Controller('support/api/session')
@UseGuards(StaffGuard)
export class PasskeySignInController {
  constructor(
    private readonly challenges: PasskeyChallenges,
    private readonly relyingParty: RelyingParty,
    private readonly passkeys: PasskeySignIn,
    private readonly config: Config,
  ) {}

  @Post('options')
  @BeforeSignIn()
  @HttpCode(200)
  async options(@Res({ passthrough: true }) reply: FastifyReply) {
    const { id, challenge } = await this.challenges.make(null);
    giveCookie(reply, this.config, 'challenge', id, CHALLENGE_MINUTES * 60);
    return { options: await this.relyingParty.signInOptions(challenge) };
  }

  @Post()
  @BeforeSignIn()
  @HttpCode(204)
  async signIn(
    @Body() { response }: PasskeyAnswerRequest,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const challenge = await this.challenges.spend(readCookie(request, this.config, 'challenge'), null);
    if (!challenge) throw problem('passkey_invalid');
    const cookie = await this.passkeys.signIn(response as unknown as AuthenticationResponseJSON, challenge);
    takeCookieBack(reply, this.config, 'challenge');
    giveCookie(reply, this.config, 'staff', cookie);
  }
}
