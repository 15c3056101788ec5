import { Controller, Get, UseGuards } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Clock } from '../../core/clock.js';
import { readPublishedManifests } from './manifest-history.js';
import { StaffGuard } from '../../staff/identity/staff.guard.js';

/** `GET /support/api/manifests`: the published manifests. Only the command line publishes. */
@Controller('support/api/manifests')
@UseGuards(StaffGuard)
export class ManifestsController {
  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
  ) {}

  @Get()
  async list() {
    return readPublishedManifests(this.dataSource, this.clock.now());
  }
}
