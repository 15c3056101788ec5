import { Body, Controller, Get, Headers, Param, Patch, Query, UseGuards } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { readIfMatch } from '../http/parsing/if-match.js';
import { invalidMembers } from '../http/problems/problem.js';
import { readFleet } from '../telemetry/fleet.queries.js';
import type { AuthenticatedStaff } from '../staff/identity/staff-identity.js';
import { CurrentStaff, StaffGuard } from '../staff/identity/staff.guard.js';
import { CRASH_GROUP_STATES, type CrashGroupState } from './crash-group.rules.js';
import { CrashGroupChangeRequest } from './crash-groups.dto.js';
import { CrashGroupsService } from './crash-groups.service.js';
import { readPublications } from './manifest-history.js';

const DEFAULT_WEEKS = 12;
/** Weekly counts are kept for 24 months, which is at most 105 weeks. */
const MAX_WEEKS = 105;

/** `/support/api/fleet`: weekly telemetry counts, and crash groups with the states that staff give them. */
@Controller('support/api/fleet')
@UseGuards(StaffGuard)
export class FleetController {
  constructor(
    private readonly dataSource: DataSource,
    private readonly crashGroups: CrashGroupsService,
  ) {}

  @Get()
  async fleet(@Query('weeks') weeks: unknown) {
    const fleet = await readFleet(this.dataSource, parseWeeks(weeks));
    return { ...fleet, publications: await readPublications(this.dataSource) };
  }

  @Get('crash-groups')
  async listCrashGroups(@Query('weeks') weeks: unknown, @Query('state') state: unknown) {
    return { crash_groups: await this.crashGroups.list(parseWeeks(weeks), parseState(state)) };
  }

  /** With `if-match: "REVISION"` the change is refused if another person has changed the state meanwhile. */
  @Patch('crash-groups/:crash_sig')
  async changeCrashGroup(
    @Param('crash_sig') crashSig: string,
    @Body() request: CrashGroupChangeRequest,
    @CurrentStaff() staff: AuthenticatedStaff,
    @Headers('if-match') ifMatch?: string,
  ) {
    return { crash_group: await this.crashGroups.set(crashSig, request, staff, readIfMatch(ifMatch)) };
  }
}

function parseWeeks(text: unknown): number {
  if (text === undefined) return DEFAULT_WEEKS;
  const weeks = typeof text === 'string' && /^\d{1,3}$/.test(text) ? Number(text) : NaN;
  if (weeks >= 1 && weeks <= MAX_WEEKS) return weeks;
  throw invalidMembers({ weeks: `must be a whole number from 1 to ${MAX_WEEKS}` });
}

function parseState(text: unknown): CrashGroupState {
  if (text === undefined) return 'open';
  const state = CRASH_GROUP_STATES.find((each) => each === text);
  if (state) return state;
  throw invalidMembers({ state: `must be one of ${CRASH_GROUP_STATES.join(', ')}` });
}
