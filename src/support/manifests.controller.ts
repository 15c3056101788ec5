import { Controller, Get, UseGuards } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Clock } from '../core/clock.js';
import { publishedManifests } from './manifest-history.js';
import { StaffGuard } from '../staff/staff.guard.js';

/** `GET /support/api/manifests`: what was published. Publishing is the command line's. */
@Controller('support/api/manifests')
@UseGuards(StaffGuard)
export class ManifestsController {
  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
  ) {}

  @Get()
  async list() {
    return publishedManifests(this.dataSource, this.clock.now());
  }
}
