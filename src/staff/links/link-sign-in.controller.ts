import { Body, Controller, HttpCode, Post, Req, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DataSource } from 'typeorm';
import { Config } from '../../core/config.js';
import { readCookie, setCookie } from '../../http/sessions/cookies.js';
import { SessionIgnored } from '../../http/sessions/same-origin.js';
import { Sessions } from '../../http/sessions/sessions.js';
import { LinkRequest } from './link-sign-in.dto.js';
import { StaffGuard } from '../identity/staff.guard.js';
import { StaffLinks } from './staff-links.js';

/** Sign-in with a one-time link, without a session (docs/contract.md#staff). */
@Controller('support/api/session/link')
@UseGuards(StaffGuard)
export class LinkSignInController {
  constructor(
    private readonly dataSource: DataSource,
    private readonly links: StaffLinks,
    private readonly sessions: Sessions,
    private readonly config: Config,
  ) {}

  @Post()
  @SessionIgnored()
  @HttpCode(204)
  async signIn(
    @Body() { link }: LinkRequest,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const replaced = readCookie(request, this.config, 'staff');
    const token = await this.dataSource.transaction(async (manager) => {
      const staff_id = await this.links.consume(manager, link);
      return this.sessions.begin(manager, { staff_id }, replaced);
    });
    setCookie(reply, this.config, 'staff', token);
  }
}
