import { Controller, Get, UseGuards } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { timesAsText, type RowOf } from '../core/clock.js';
import { queryRows } from '../database/sql.js';
import type { RetentionRun } from '../http/responses/api-types.js';
import { StaffGuard } from '../staff/identity/staff.guard.js';

type RetentionRunRow = Omit<RowOf<RetentionRun, 'as_of' | 'started_at' | 'finished_at'>, 'error'> & {
  readonly failed: readonly string[];
};

const MAX_LISTED_RUNS = 30;

const SELECT_RETENTION_RUNS = `
  select id, as_of, started_at, finished_at, deleted, failed from retention_run
  order by started_at desc, id desc limit ${MAX_LISTED_RUNS}`;

/** `GET /support/api/retention`: the last retention runs, with the number of deleted rows by table. */
@Controller('support/api/retention')
@UseGuards(StaffGuard)
export class RetentionController {
  constructor(private readonly dataSource: DataSource) {}

  @Get()
  async runs() {
    return {
      runs: (await queryRows<RetentionRunRow>(this.dataSource, SELECT_RETENTION_RUNS)).map(toRunView),
    };
  }
}

function toRunView({ failed, ...run }: RetentionRunRow): RetentionRun {
  return {
    ...timesAsText(run),
    // `failed` has the names of the failed steps. A step has the name of the table that it changes. The step `file_rewrite` chooses
    // the tables whose files are rewritten, and waits for older transactions.
    ...(failed.length > 0 && { error: `Failed steps: ${failed.join(', ')}.` }),
  };
}
