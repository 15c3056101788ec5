import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  HttpStatus,
  Post,
  Req,
  Res,
  UseGuards,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Config } from '../core/config.js';
import { CODE_LIFETIME_MINUTES } from '../fields/code-lifetime.js';
import { setCookie, readCookie, clearCookie } from '../http/sessions/cookies.js';
import { SessionIgnored, SessionOptional } from '../http/sessions/same-origin.js';
import { Sessions } from '../http/sessions/sessions.js';
import { HolderGuard, CurrentHolder, PageLanguage } from './holder.guard.js';
import type { Holder } from './holder.js';
import { HolderOverviewService } from './overview.service.js';
import { CodeRequest, SignInRequest } from './portal.dto.js';
import { SignInService } from './sign-in.service.js';

/** Sessions of holders, with what the portal shows in them (docs/contract.md#portal). */
@Controller('portal/api/session')
@UseGuards(HolderGuard)
export class HolderSessionController {
  constructor(
    private readonly signIn: SignInService,
    private readonly overview: HolderOverviewService,
    private readonly sessions: Sessions,
    private readonly config: Config,
  ) {}

  /**
   * Returns what the portal shows to the holder; 204 without a session. The cookie of an ended session stays, because another tab
   * may have replaced it meanwhile.
   */
  @Get()
  @SessionOptional()
  async read(@CurrentHolder() holder: Holder | undefined, @Res({ passthrough: true }) reply: FastifyReply) {
    const overview = holder && (await this.overview.read(holder));
    if (!overview) return void reply.status(HttpStatus.NO_CONTENT);
    return overview;
  }

  @Post()
  @SessionIgnored()
  @HttpCode(204)
  async begin(
    @Body() body: SignInRequest,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    const { email, license_key, code } = body;
    const replaced = readCookie(request, this.config, 'holder');
    const codeId = readCookie(request, this.config, 'code');
    const token =
      license_key === undefined
        ? await this.signIn.signInWithCode(email, code!, codeId, replaced)
        : await this.signIn.signInWithKey(email!, license_key, replaced);
    setCookie(reply, this.config, 'holder', token);
    if (code !== undefined) clearCookie(reply, this.config, 'code');
  }

  /**
   * Mails a code. The response to an address does not reveal whether a license has this address. If the holder is signed in with a
   * license key, codes for the address of that license have a separate limit, which other callers cannot use up. Instead of an
   * address, the page may send the hint of a refused activation. The response to a valid hint has a part of the license's address.
   */
  @Post('code')
  @SessionOptional()
  @HttpCode(202)
  async requestCode(
    @Body() { email, hint }: CodeRequest,
    @PageLanguage() language: string | undefined,
    @CurrentHolder() holder: Holder | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<{ sent_to: string }> {
    const { id, sent_to } =
      hint === undefined
        ? { id: await this.signIn.requestCode(email!, holder, language), sent_to: email! }
        : await this.signIn.requestCodeByHint(hint, holder, language);
    setCookie(reply, this.config, 'code', id, CODE_LIFETIME_MINUTES * 60);
    return { sent_to };
  }

  @Delete()
  @HttpCode(204)
  async end(@CurrentHolder() holder: Holder, @Res({ passthrough: true }) reply: FastifyReply): Promise<void> {
    await this.sessions.end(holder.session_id);
    clearCookie(reply, this.config, 'holder');
  }
}
