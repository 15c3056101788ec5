import { Readable } from 'node:stream';
import { Controller, Get, Query, StreamableFile, UseGuards } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Clock, utcDay } from '../../core/clock.js';
import { AppLogger } from '../../core/logger.js';
import { LicenseKeys } from '../../keys/license-keys.js';
import { StaffGuard } from '../../staff/identity/staff.guard.js';
import { auditCsv } from './audit-csv.js';
import { AuditQuery } from './audit.dto.js';
import { readAuditBatches, readAuditPage, readValues, type AuditFilter } from './audit-trail.js';

/** `/support/api/audit`: the audit trail, which staff of both roles may read (docs/contract.md#staff). */
@Controller('support/api/audit')
@UseGuards(StaffGuard)
export class AuditController {
  constructor(
    private readonly dataSource: DataSource,
    private readonly keys: LicenseKeys,
    private readonly clock: Clock,
    private readonly log: AppLogger,
  ) {}

  @Get()
  async events(@Query() query: AuditQuery) {
    return readAuditPage(this.dataSource, await this.toFilter(query));
  }

  /** The values for `actor_id` and `action` that select at least one event. */
  @Get('filters')
  async filters() {
    const actors = await readValues(this.dataSource, 'actor');
    return {
      actors: actors.map((actor) => ({ id: this.keys.auditActorId(actor), actor })),
      actions: await readValues(this.dataSource, 'action'),
    };
  }

  /** Sends all events that the filter selects. If the client leaves, no further batch is read. */
  @Get('export')
  async export(@Query() query: AuditQuery): Promise<StreamableFile> {
    const batches = readAuditBatches(this.dataSource, await this.toFilter(query));
    // The first batch is read before the response begins, so that an error still has a response of its own.
    const first = await batches.next();
    const csv = Readable.from(auditCsv(prepend(first.value ?? [], batches)), { objectMode: false });
    // The response has begun, so the client only sees that its connection is closed.
    csv.on('error', (error) => this.log.failed('audit trail not exported', error));
    return new StreamableFile(csv, {
      type: 'text/csv; charset=utf-8; header=present',
      disposition: `attachment; filename="audit-${utcDay(this.clock.now())}.csv"`,
    });
  }

  private async toFilter({ actor_id, ...filter }: AuditQuery): Promise<AuditFilter> {
    if (actor_id === undefined) return filter;
    const actors = await readValues(this.dataSource, 'actor');
    return { ...filter, actor: actors.find((actor) => this.keys.auditActorId(actor) === actor_id) ?? null };
  }
}

async function* prepend<T>(first: T, others: AsyncIterable<T>): AsyncGenerator<T, void> {
  yield first;
  yield* others;
}
