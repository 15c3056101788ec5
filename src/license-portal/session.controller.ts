import { Body, Controller, Delete, HttpCode, Post, Req, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Config } from '../core/config.js';
import { setCookie, readCookie, takeCookieBack } from '../http/sessions/cookies.js';
import { BeforeSignIn } from '../http/sessions/same-origin.js';
import { Sessions } from '../http/sessions/sessions.js';
import { canonicalEmail } from '../licenses/email.js';
import { HolderGuard, SignedInHolder } from './holder.guard.js';
import type { Holder } from './holder.js';
import { CodeRequest, plainCode, SignInRequest } from './portal.dto.js';
import { CODE_MINUTES } from './sign-in-codes.js';
import { SignIn } from './sign-in.service.js';

/** Signing in and out (contract, section 3). */
@Controller('portal/api/session')
@UseGuards(HolderGuard)
export class SessionController {
  constructor(
    private readonly signIn: SignIn,
    private readonly sessions: Sessions,
    private readonly config: Config,
  ) {}

  @Post()
  @BeforeSignIn()
  @HttpCode(204)
  async begin(
    @Body() { email: typed, license_key, code }: SignInRequest,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    const email = canonicalEmail(typed)!;
    if (license_key !== undefined) {
      await this.sessions.give(reply, 'holder', await this.signIn.byKey(email, license_key));
      return;
    }
    const asked = readCookie(request, this.config, 'code');
    await this.sessions.give(reply, 'holder', await this.signIn.byCode(email, plainCode(code!), asked));
    takeCookieBack(reply, this.config, 'code');
  }

  /**
   * The same answer whether or not a license has this address. A session is not needed; one that a key began has limits of
   * its own.
   */
  @Post('code')
  @BeforeSignIn()
  @HttpCode(202)
  async code(
    @Body() { email }: CodeRequest,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    const session = await this.sessions.find(readCookie(request, this.config, 'holder'));
    const id = await this.signIn.askForCode(canonicalEmail(email)!, session);
    setCookie(reply, this.config, 'code', id, CODE_MINUTES * 60);
  }

  @Delete()
  @HttpCode(204)
  async end(
    @SignedInHolder() holder: Holder,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    await this.sessions.end(holder.id);
    takeCookieBack(reply, this.config, 'holder');
  }
}
