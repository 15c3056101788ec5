import { Controller, Get, Query, UseGuards } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { invalidMembers } from '../http/problems/problem.js';
import { readFleet } from '../telemetry/fleet.queries.js';
import { StaffGuard } from '../staff/staff.guard.js';

const DEFAULT_WEEKS = 12;
/** Weekly counts are kept for 24 months, which is at most 105 weeks. */
const MAX_WEEKS = 105;

/** `GET /support/api/fleet`: weekly telemetry counts. */
@Controller('support/api/fleet')
@UseGuards(StaffGuard)
export class FleetController {
  constructor(private readonly dataSource: DataSource) {}

  @Get()
  async fleet(@Query('weeks') weeks: unknown) {
    return readFleet(this.dataSource, parseWeeks(weeks));
  }
}

function parseWeeks(text: unknown): number {
  if (text === undefined) return DEFAULT_WEEKS;
  const weeks = typeof text === 'string' && /^\d{1,3}$/.test(text) ? Number(text) : NaN;
  if (weeks >= 1 && weeks <= MAX_WEEKS) return weeks;
  throw invalidMembers({ weeks: `must be a whole number from 1 to ${MAX_WEEKS}` });
}
