import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { queryOne } from '../database/sql.js';
import { JobWorker } from '../mail/job-worker.js';
import { HAS_FAILED } from '../mail/waiting-mail.js';

/** The jobs of a kind that are not done. */
export interface JobCounts {
  /** `other` for those of a version before or after this one. */
  readonly task: string;
  /** Those that will be tried, also where they have failed so far. */
  readonly waiting: number;
  /** Those among them that are due for minutes, and at which no instance works. */
  readonly late: number;
  /** Those that failed so far, or for good. */
  readonly failing: number;
}

const BACKLOG = `
  select (select coalesce(json_agg(of_task), '[]') from (
            select case when task_identifier = any($1) then task_identifier else 'other' end as task,
                   count(*) filter (where attempts < max_attempts) as waiting,
                   count(*) filter (where attempts < max_attempts and locked_at is null
                                      and run_at < now() - interval '5 minutes') as late,
                   count(*) filter (where ${HAS_FAILED}) as failing
            from graphile_worker.jobs group by 1) of_task) as jobs`;

/** Work that waits. */
@Injectable()
export class JobBacklog {
  constructor(
    private readonly dataSource: DataSource,
    private readonly worker: JobWorker,
  ) {}

  /** One line for each kind that there is. */
  async read(): Promise<JobCounts[]> {
    const { tasks } = this.worker;
    const { jobs } = await queryOne<{ jobs: JobCounts[] }>(this.dataSource, BACKLOG, [tasks]);
    const none = [...tasks, 'other'].map((task) => ({ task, waiting: 0, late: 0, failing: 0 }));
    return none.map((each) => jobs.find(({ task }) => task === each.task) ?? each);
  }
}
