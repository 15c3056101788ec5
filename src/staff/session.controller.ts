import { Controller, Delete, Get, HttpCode, HttpStatus, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { DataSource } from 'typeorm';
import { Config } from '../core/config.js';
import { clearCookie } from '../http/sessions/cookies.js';
import { SessionOptional } from '../http/sessions/same-origin.js';
import { Sessions } from '../http/sessions/sessions.js';
import type { AuthenticatedStaff } from './identity/staff-identity.js';
import { hasPasskey } from './links/staff-links.js';
import { SessionOnly, CurrentStaff, StaffGuard } from './identity/staff.guard.js';

/** The session of the signed-in staff member (docs/contract.md#staff). */
@Controller('support/api/session')
@UseGuards(StaffGuard)
@SessionOnly()
export class StaffSessionController {
  constructor(
    private readonly dataSource: DataSource,
    private readonly sessions: Sessions,
    private readonly config: Config,
  ) {}

  /** Returns who is signed in; 204 without a session. An invalid cookie is kept, because another tab may have just replaced it. */
  @Get()
  @SessionOptional()
  async read(
    @CurrentStaff() staff: AuthenticatedStaff | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    if (!staff) return void reply.status(HttpStatus.NO_CONTENT);
    const { id, email, role } = staff;
    return { id, email, role, has_passkey: await hasPasskey(this.dataSource.manager, id) };
  }

  @Delete()
  @HttpCode(204)
  async end(
    @CurrentStaff() { session_id }: AuthenticatedStaff,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    await this.sessions.end(session_id!);
    clearCookie(reply, this.config, 'staff');
  }
}
