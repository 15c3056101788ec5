import { Injectable } from '@nestjs/common';
import { Clock, DAY_MS } from '../../core/clock.js';
import { AppLogger } from '../../core/logger.js';
import { JobBacklog, type JobCounts } from '../job-backlog.js';
import { lastFinished } from '../data-age.js';
import type { MetricsRegistry, MetricsSource } from './registry.js';
import { WarningsService, type Watched } from '../warnings.service.js';

/** What the database is asked for at a scrape. While it does not answer there is no such figure, and nothing old. */
@Injectable()
export class DataMetrics implements MetricsSource {
  #seen: (Watched & { readonly jobs: readonly JobCounts[] }) | null = null;

  constructor(
    private readonly warnings: WarningsService,
    private readonly backlog: JobBacklog,
    private readonly clock: Clock,
    private readonly log: AppLogger,
  ) {}

  // An outage is known within the 2 seconds that any request waits, and what the process knows by itself is told all
  // the same: then it is needed most.
  async look(): Promise<void> {
    try {
      const [watched, jobs] = await Promise.all([this.warnings.look(), this.backlog.read()]);
      this.#seen = { ...watched, jobs };
    } catch (error) {
      this.#seen = null;
      this.log.failed('metrics without the database', error);
    }
  }

  measure(figures: MetricsRegistry): void {
    figures.gauge('mooring_database_up', '1 where the database answered this scrape, else 0.', () =>
      Number(this.#seen !== null),
    );
    figures.gauge(
      'mooring_warnings',
      'Warnings of /health/ready.',
      () => this.warnings.of(this.#seen).length,
    );
    figures.gauge(
      'mooring_manifest_expires_in_days',
      'Days until the live manifest expires; below 0: it has expired.',
      () => this.warnings.manifestDays(),
    );
    this.measureAges(figures);
    this.measureRetention(figures);
    this.measureJobs(figures);
  }

  // What is not there has no age.
  private measureAges(figures: MetricsRegistry): void {
    figures.gauge('mooring_oldest_age_days', 'Age in days of the oldest row, by what it is.', () => {
      if (!this.#seen) return null;
      const { telemetry, telemetry_inbox, ended_activation } = this.#seen.ages;
      const oldest = Object.entries({ telemetry, telemetry_inbox, ended_activation });
      return oldest.flatMap(([of, day]) => (day === null ? [] : [[{ of }, this.daysSince(day)] as const]));
    });
    figures.gauge(
      'mooring_erasure_overdue_days',
      'Days that the most urgent deletion request is overdue; below 0: days left.',
      () => {
        const due = this.#seen?.ages.erasure_due;
        return due ? this.daysSince(due) : null;
      },
    );
  }

  private measureRetention(figures: MetricsRegistry): void {
    figures.gauge(
      'mooring_erasures_unrecorded',
      'Deletion requests carried out in the last 30 days that TOMBSTONE_FILE lacks; absent where it cannot be read.',
      () => this.#seen?.erasures.unrecorded,
    );
    figures.gauge(
      'mooring_licenses_without_address',
      'Licenses that run without an e-mail address since a restore.',
      () => this.#seen?.erasures.licenses_without_address,
    );
    figures.gauge(
      'mooring_retention_age_seconds',
      'Seconds since a retention run of any instance ended; before the first, since the database was made.',
      () => {
        const ages = this.#seen?.ages;
        return ages && (this.clock.now().getTime() - lastFinished(ages).getTime()) / 1000;
      },
    );
    figures.gauge(
      'mooring_retention_overdue',
      '1 where rows should have been deleted over a day ago, else 0, by table.',
      () => {
        const overdue = Object.entries(this.#seen?.ages.overdue ?? {});
        return overdue.map(([table, day]) => [{ table }, Number(day !== null)] as const);
      },
    );
    figures.gauge(
      'mooring_retention_failed_tables',
      'Tables where the last retention run failed.',
      () => this.#seen?.ages.failed.length,
    );
  }

  private measureJobs(figures: MetricsRegistry): void {
    figures.gauge('mooring_mails_waiting', 'Mails that wait to be sent.', () => this.#seen?.mail.waiting);
    figures.gauge(
      'mooring_mails_failing',
      'Mails that could not be delivered so far.',
      () => this.#seen?.mail.failed,
    );
    figures.gauge('mooring_jobs_waiting', 'Jobs that will be tried, by task, mails among them.', () =>
      this.ofJobs(({ waiting }) => waiting),
    );
    figures.gauge('mooring_jobs_late', 'Jobs due for over 5 minutes that nobody does, by task.', () =>
      this.ofJobs(({ late }) => late),
    );
    figures.gauge('mooring_jobs_failing', 'Jobs that failed so far, or for good, by task.', () =>
      this.ofJobs(({ failing }) => failing),
    );
  }

  private ofJobs(read: (of: JobCounts) => number) {
    return this.#seen?.jobs.map((of) => [{ task: of.task }, read(of)] as const);
  }

  private daysSince(day: string): number {
    return Math.floor((this.clock.now().getTime() - Date.parse(day)) / DAY_MS);
  }
}
