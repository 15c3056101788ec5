import { Controller, Get, UseGuards } from '@nestjs/common';
import { StaffGuard } from '../../staff/identity/staff.guard.js';
import { JobBacklog } from './job-backlog.js';
import { WarningsService } from './warnings.service.js';

/**
 * `GET /support/api/service`: the warnings, mails and events that `mooring status` prints, for staff who have no command line,
 * and the numbers of unfinished jobs.
 */
@Controller('support/api/service')
@UseGuards(StaffGuard)
export class ServiceStatusController {
  constructor(
    private readonly warnings: WarningsService,
    private readonly backlog: JobBacklog,
  ) {}

  @Get()
  async read() {
    const state = await this.warnings.readState();
    const { mail, events } = state;
    return { warnings: this.warnings.derive(state), mail, events, jobs: await this.backlog.read() };
  }
}
