import { Body, Controller, Get, Headers, Param, Patch, Query, UseGuards } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { readIfMatch } from '../../http/parsing/if-match.js';
import { readFleet } from '../../telemetry/fleet.queries.js';
import type { AuthenticatedStaff } from '../../staff/identity/staff-identity.js';
import { CurrentStaff, StaffGuard } from '../../staff/identity/staff.guard.js';
import { CrashGroupChangeRequest } from './crash-groups.dto.js';
import { CrashGroupsService } from './crash-groups.service.js';
import { CrashGroupsQuery, FleetQuery } from './fleet.dto.js';
import { readPublications } from '../manifests/manifest-history.js';

/** `/support/api/fleet`: weekly telemetry counts, and crash groups with the states that staff give them. */
@Controller('support/api/fleet')
@UseGuards(StaffGuard)
export class FleetController {
  constructor(
    private readonly dataSource: DataSource,
    private readonly crashGroups: CrashGroupsService,
  ) {}

  @Get()
  async fleet(@Query() { weeks }: FleetQuery) {
    const fleet = await readFleet(this.dataSource, weeks);
    return { ...fleet, publications: await readPublications(this.dataSource) };
  }

  @Get('crash-groups')
  async listCrashGroups(@Query() { weeks, state }: CrashGroupsQuery) {
    return { crash_groups: await this.crashGroups.list(weeks, state) };
  }

  /** With `if-match: "REVISION"` the change is refused if the state was changed meanwhile. */
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
