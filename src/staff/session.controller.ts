import { Controller, Delete, Get, HttpCode, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { DataSource } from 'typeorm';
import { Config } from '../core/config.js';
import { takeCookieBack } from '../http/sessions/cookies.js';
import { Sessions } from '../http/sessions/sessions.js';
import type { SignedIn } from './staff-identity.js';
import { hasPasskey } from './links/staff-links.js';
import { SessionOnly, SignedInStaff, StaffGuard } from './staff.guard.js';

/** Who is signed in (contract, section 4). */
@Controller('support/api/session')
@UseGuards(StaffGuard)
@SessionOnly()
export class SessionController {
  constructor(
    private readonly dataSource: DataSource,
    private readonly sessions: Sessions,
    private readonly config: Config,
  ) {}

  @Get()
  async read(@SignedInStaff() { id, email, role }: SignedIn) {
    return { id, email, role, has_passkey: await hasPasskey(this.dataSource.manager, id) };
  }

  @Delete()
  @HttpCode(204)
  async end(@SignedInStaff() { session_id }: SignedIn, @Res({ passthrough: true }) reply: FastifyReply) {
    await this.sessions.end(session_id!);
    takeCookieBack(reply, this.config, 'staff');
  }
}
