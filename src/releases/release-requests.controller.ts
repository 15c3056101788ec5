import { Body, Controller, Get, HttpCode, Param, Post, UseGuards } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Languages } from '../languages/languages.service.js';
import { decisionMailTexts } from './decision-mail-texts.js';
import { ReleaseDecisions } from './release-decisions.js';
import { findWaitingRequests } from './release-queue.js';
import { DecisionRequest } from './release-requests.dto.js';
import type { AuthenticatedStaff } from '../staff/identity/staff-identity.js';
import { ChecksStaffIdHeader, CurrentStaff, StaffGuard } from '../staff/identity/staff.guard.js';

/** The queue of release requests for staff (docs/contract.md#staff). */
@Controller('support/api/release-requests')
@UseGuards(StaffGuard)
export class ReleaseRequestsController {
  constructor(
    private readonly dataSource: DataSource,
    private readonly decisions: ReleaseDecisions,
    private readonly languages: Languages,
  ) {}

  @Get()
  async waiting() {
    return { release_requests: await findWaitingRequests(this.dataSource) };
  }

  /**
   * Returns the texts of the mails about a decision in each language, which the support page shows before the decision.
   * `language` is that of MAIL_LANGUAGE, in which the mail is sent if the release request has no language.
   */
  @Get('mails')
  mails() {
    return {
      language: this.languages.find(undefined).tag,
      mails: this.languages.views.map(({ tag }) => decisionMailTexts(this.languages.find(tag))),
    };
  }

  @Post(':id')
  @ChecksStaffIdHeader()
  @HttpCode(200)
  decide(
    @Param('id') id: string,
    @Body() { decision, reason }: DecisionRequest,
    @CurrentStaff() staff: AuthenticatedStaff,
  ) {
    return this.decisions.decide(id, decision, { actor: staff.email, reason });
  }
}
