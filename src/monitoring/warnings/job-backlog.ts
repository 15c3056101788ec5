import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { queryRows } from '../../database/sql.js';
import type { JobCounts } from '../../http/responses/api-types.js';
import { JobWorker } from '../../mail/job-worker.js';
import { HAS_FAILED, IS_CURRENT, IS_LATE } from '../../mail/waiting-mail.js';

const BACKLOG = `
  select case when task_identifier = any($1) then task_identifier else 'other' end as task,
    count(*) filter (where attempts < max_attempts)::int as waiting,
    count(*) filter (where ${IS_LATE})::int as late,
    count(*) filter (where ${HAS_FAILED})::int as failing
  from graphile_worker.jobs where ${IS_CURRENT} group by 1`;

/** Counts the jobs that are not done, including those that will not be attempted again. */
@Injectable()
export class JobBacklog {
  constructor(
    private readonly dataSource: DataSource,
    private readonly worker: JobWorker,
  ) {}

  /** The counts of each task, in a fixed order; zeros for a task without jobs. `other` counts the tasks of other versions. */
  async read(): Promise<JobCounts[]> {
    const { tasks } = this.worker;
    const jobs = await queryRows<JobCounts>(this.dataSource, BACKLOG, [tasks]);
    const zeros = [...tasks, 'other'].map((task) => ({ task, waiting: 0, late: 0, failing: 0 }));
    return zeros.map((zero) => jobs.find(({ task }) => task === zero.task) ?? zero);
  }
}
