import { Controller, Get, Query, UseGuards } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { validate as isUuid } from 'uuid';
import { invalidMembers } from '../http/problems/problem.js';
import { readAuditTrail } from './audit-trail.js';
import { StaffGuard } from '../staff/staff.guard.js';

/** `GET /support/api/audit`: the audit trail. */
@Controller('support/api/audit')
@UseGuards(StaffGuard)
export class AuditController {
  constructor(private readonly dataSource: DataSource) {}

  @Get()
  async events(@Query('license_id') licenseId: unknown) {
    return { events: await readAuditTrail(this.dataSource, parseLicenseId(licenseId)) };
  }
}

function parseLicenseId(text: unknown): string | undefined {
  if (text === undefined || (typeof text === 'string' && isUuid(text))) return text;
  throw invalidMembers({ license_id: 'must be a license id' });
}
