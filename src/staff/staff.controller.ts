import { Body, Controller, Get, HttpCode, Param, Patch, Post, UseGuards } from '@nestjs/common';
import type { AuthenticatedStaff } from './identity/staff-identity.js';
import { StaffLinkMails } from './links/staff-link-mails.js';
import { RoleRequest, StaffRequest } from './staff.dto.js';
import { AdminOnly, CurrentStaff, SessionOnly, StaffGuard } from './identity/staff.guard.js';
import { StaffService } from './staff.service.js';
import { ReasonRequest } from '../audit/reason.dto.js';

/** Staff accounts, managed by admins (docs/contract.md#staff). */
@Controller('support/api/staff')
@UseGuards(StaffGuard)
export class StaffController {
  constructor(
    private readonly staffService: StaffService,
    private readonly linkMails: StaffLinkMails,
  ) {}

  @Get()
  @AdminOnly()
  async list() {
    return { staff: await this.staffService.list() };
  }

  @Post()
  @AdminOnly()
  @SessionOnly()
  async add(@Body() { email, role }: StaffRequest, @CurrentStaff() staff: AuthenticatedStaff) {
    const audit = { actor: staff.email, reason: null };
    const { staff_id } = await this.staffService.add(email, role, audit, staff.id);
    return { staff: await this.staffService.getView(staff_id) };
  }

  @Patch(':id')
  @AdminOnly()
  @SessionOnly()
  async change(
    @Param('id') id: string,
    @Body() { role, reason }: RoleRequest,
    @CurrentStaff() staff: AuthenticatedStaff,
  ) {
    await this.staffService.setRole(id, role, { actor: staff.email, reason }, staff.id);
    return { staff: await this.staffService.getView(id) };
  }

  /** A staff token may do this too, unlike the routes with `SessionOnly`: a removal gives no access to anyone. */
  @Post(':id/remove')
  @AdminOnly()
  @HttpCode(204)
  async remove(
    @Param('id') id: string,
    @Body() { reason }: ReasonRequest,
    @CurrentStaff() staff: AuthenticatedStaff,
  ) {
    await this.staffService.remove(id, { actor: staff.email, reason }, staff.id);
  }

  /** Mails a sign-in link to the staff member. The response does not contain the link. */
  @Post(':id/link')
  @AdminOnly()
  @SessionOnly()
  @HttpCode(202)
  async link(@Param('id') id: string, @CurrentStaff() staff: AuthenticatedStaff) {
    await this.linkMails.send(id, { actor: staff.email, reason: null }, staff.id);
  }
}
