import { Body, Controller, Get, HttpCode, Param, Patch, Post, UseGuards } from '@nestjs/common';
import { canonicalEmail } from '../licenses/email.js';
import type { SignedIn } from './staff-identity.js';
import { StaffLinkMails } from './links/staff-link-mails.js';
import { RoleRequest, StaffRequest } from './staff.dto.js';
import { AdminOnly, SignedInStaff, StaffGuard } from './staff.guard.js';
import { StaffService } from './staff.service.js';
import { ReasonRequest } from '../audit/reason.dto.js';

/** The people of the staff, in the hands of admins (contract, section 4). */
@Controller('support/api/staff')
@UseGuards(StaffGuard)
export class StaffController {
  constructor(
    private readonly people: StaffService,
    private readonly linkMails: StaffLinkMails,
  ) {}

  @Get()
  @AdminOnly()
  async list() {
    return { staff: await this.people.list() };
  }

  @Post()
  @AdminOnly()
  async add(@Body() { email, role }: StaffRequest, @SignedInStaff() staff: SignedIn) {
    const act = { actor: staff.email, reason: null };
    const { staff_id } = await this.people.add(canonicalEmail(email)!, role, act);
    return { staff: await this.people.view(staff_id) };
  }

  @Patch(':id')
  @AdminOnly()
  async change(
    @Param('id') id: string,
    @Body() { role, reason }: RoleRequest,
    @SignedInStaff() staff: SignedIn,
  ) {
    await this.people.setRole(id, role, { actor: staff.email, reason });
    return { staff: await this.people.view(id) };
  }

  @Post(':id/remove')
  @AdminOnly()
  @HttpCode(204)
  async remove(@Param('id') id: string, @Body() { reason }: ReasonRequest, @SignedInStaff() staff: SignedIn) {
    await this.people.remove(id, { actor: staff.email, reason });
  }

  /** The link goes to the person by mail, and to nobody else. */
  @Post(':id/link')
  @AdminOnly()
  @HttpCode(202)
  async link(@Param('id') id: string, @SignedInStaff() staff: SignedIn) {
    await this.linkMails.send(id, { actor: staff.email, reason: null });
  }
}
