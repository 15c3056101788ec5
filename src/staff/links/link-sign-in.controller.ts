import { Body, Controller, HttpCode, Post, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { DataSource } from 'typeorm';
import { AllowedWithoutSession } from '../../http/sessions/same-origin.js';
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
  ) {}

  @Post()
  @AllowedWithoutSession()
  @HttpCode(204)
  async signIn(@Body() { link }: LinkRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    const token = await this.dataSource.transaction(async (manager) => {
      const staff_id = await this.links.consume(manager, link);
      return this.sessions.begin(manager, { staff_id });
    });
    await this.sessions.setCookie(reply, 'staff', token);
  }
}
