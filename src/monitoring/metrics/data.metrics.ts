import { Injectable } from '@nestjs/common';
import { Clock, DAY_MS } from '../../core/clock.js';
import { AppLogger } from '../../core/logger.js';
import type { JobCounts } from '../../http/responses/api-types.js';
import { JobBacklog } from '../warnings/job-backlog.js';
import { lastRetentionOrCreation } from '../warnings/data-age.js';
import type { MetricsRegistry, MetricsSource } from './registry.js';
import { WarningsService, type MonitoredState } from '../warnings/warnings.service.js';

/**
 * The metrics of the data. Each scrape reads them from the database, except the expiry of the manifest. While the database does
 * not answer, `mooring_database_up` is 0, the warnings say so, and the values read from the database are absent, so that no
 * scrape shows old ones.
 */
@Injectable()
export class DataMetrics implements MetricsSource {
  #state: (MonitoredState & { readonly jobs: readonly JobCounts[] }) | null = null;

  constructor(
    private readonly warnings: WarningsService,
    private readonly backlog: JobBacklog,
    private readonly clock: Clock,
    private readonly log: AppLogger,
  ) {}

  // A failure is not passed on: the metrics of the process itself are needed most during an outage.
  async prepare(): Promise<void> {
    try {
      const [state, jobs] = await Promise.all([this.warnings.readState(), this.backlog.read()]);
      this.#state = { ...state, jobs };
    } catch (error) {
      this.#state = null;
      this.log.failed('metrics without the database', error);
    }
  }

  register(registry: MetricsRegistry): void {
    registry.gauge('mooring_database_up', '1 if the database answered this scrape, otherwise 0.', () =>
      Number(this.#state !== null),
    );
    registry.gauge(
      'mooring_warnings',
      'Warnings of /health/ready.',
      () => this.warnings.derive(this.#state).length,
    );
    registry.gauge(
      'mooring_manifest_expires_in_days',
      'Days until the live manifest expires; below 0: it has expired.',
      () => this.warnings.daysUntilManifestExpires(),
    );
    this.registerAges(registry);
    this.registerRetention(registry);
    this.registerJobs(registry);
  }

  private registerAges(registry: MetricsRegistry): void {
    registry.gauge(
      'mooring_oldest_age_days',
      'Age in days of the oldest row, by kind; absent if there is no row.',
      () => {
        if (!this.#state) return null;
        const { telemetry, telemetry_inbox, ended_activation } = this.#state.ages;
        const oldest = Object.entries({ telemetry, telemetry_inbox, ended_activation });
        return oldest.flatMap(([kind, day]) =>
          day === null ? [] : [[{ of: kind }, this.daysSince(day)] as const],
        );
      },
    );
    registry.gauge(
      'mooring_erasure_overdue_days',
      'Days that the most urgent erasure request is overdue; below 0: days left.',
      () => {
        const due = this.#state?.ages.erasure_due;
        return due ? this.daysSince(due) : null;
      },
    );
  }

  private registerRetention(registry: MetricsRegistry): void {
    registry.gauge(
      'mooring_erasures_unrecorded',
      'Erasure requests carried out in the last 30 days that TOMBSTONE_FILE lacks; absent if it cannot be read.',
      () => this.#state?.erasures.unrecorded,
    );
    registry.gauge(
      'mooring_licenses_without_address',
      'Licenses that have not ended and lost an erased address of a former holder after a restore.',
      () => this.#state?.erasures.licenses_without_address,
    );
    registry.gauge(
      'mooring_retention_age_seconds',
      'Seconds since the last retention run of any instance ended; before the first, since the database was created.',
      () => {
        const ages = this.#state?.ages;
        return ages && (this.clock.now().getTime() - lastRetentionOrCreation(ages).getTime()) / 1000;
      },
    );
    registry.gauge(
      'mooring_retention_overdue',
      '1 if rows should have been deleted over a day ago, otherwise 0, by table.',
      () => {
        const overdue = Object.entries(this.#state?.ages.overdue ?? {});
        return overdue.map(([table, day]) => [{ table }, Number(day !== null)] as const);
      },
    );
    registry.gauge(
      'mooring_retention_failed_tables',
      'Tables for which the last retention run failed.',
      () => this.#state?.ages.failed.length,
    );
  }

  private registerJobs(registry: MetricsRegistry): void {
    registry.gauge('mooring_mails_waiting', 'Mails that wait to be sent.', () => this.#state?.mail.waiting);
    registry.gauge(
      'mooring_mails_failing',
      'Mails whose last attempt failed, also if they were given up.',
      () => this.#state?.mail.failed,
    );
    registry.gauge(
      'mooring_events_waiting',
      'Events that wait to be sent.',
      () => this.#state?.events.waiting,
    );
    registry.gauge(
      'mooring_events_failing',
      'Waiting events whose last attempt failed; later events of the same license wait behind them.',
      () => this.#state?.events.failing,
    );
    registry.gauge(
      'mooring_events_given_up',
      'Events of the last 30 days that were given up after four days of attempts.',
      () => this.#state?.events.given_up,
    );
    registry.gauge('mooring_jobs_waiting', 'Jobs that will be attempted, by task, including mails.', () =>
      this.forEachTask(({ waiting }) => waiting),
    );
    registry.gauge('mooring_jobs_late', 'Jobs due for over 5 minutes that no instance runs, by task.', () =>
      this.forEachTask(({ late }) => late),
    );
    registry.gauge('mooring_jobs_failing', 'Unfinished jobs with a failed attempt, by task.', () =>
      this.forEachTask(({ failing }) => failing),
    );
  }

  private forEachTask(read: (counts: JobCounts) => number) {
    return this.#state?.jobs.map((counts) => [{ task: counts.task }, read(counts)] as const);
  }

  private daysSince(day: string): number {
    return Math.floor((this.clock.now().getTime() - Date.parse(day)) / DAY_MS);
  }
}
