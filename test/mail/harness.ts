import { EventEmitter, once } from 'node:events';
import pg from 'pg';
import { LicensesService } from '../../src/licenses/licenses.service.js';
import { PurchasesService } from '../../src/purchases/purchases.service.js';
import { Service, type ServiceOptions, connect } from '../support/harness.js';
import { SmtpServer } from './smtp-server.js';

export const MAIL_FROM = 'Example App <licenses@example.com>';
export const PUBLIC_URL = 'https://licenses.example.org/shop';

/** A job after an attempt. */
export interface Job {
  /** The name of its task, without `mail_` if it sends a mail. */
  readonly kind: string;
  /** The id of the row that the mail is about: a license, an activation, a request, a sign-in code or a sign-in link of staff. */
  readonly about: string;
  readonly mail_id: string;
  readonly attempts: number;
  readonly last_error: string;
  /** Time until the next attempt. */
  readonly retry_seconds: number;
}

type JobResult = Job & { readonly done: boolean };

/** Creates triggers that notify of the result of each attempt in its transaction, and listens for these notifications. */
const WATCH = `
  create or replace function test_watch() returns trigger language plpgsql as $$
  begin
    perform pg_notify('test_watch', json_build_object(
      'done', tg_op = 'DELETE', 'about', old.payload->>'about', 'mail_id', old.payload->>'mail_id',
      'attempts', old.attempts,
      'kind', (select regexp_replace(identifier, '^mail_', '') from graphile_worker._private_tasks where id = old.task_id),
      'last_error', case tg_op when 'UPDATE' then new.last_error end,
      'retry_seconds', case tg_op when 'UPDATE' then extract(epoch from new.run_at - now()) end)::text);
    return new;
  end $$;
  create or replace trigger test_done after delete on graphile_worker._private_jobs
    for each row execute function test_watch();
  create or replace trigger test_failed before update on graphile_worker._private_jobs
    for each row when (old.locked_by is not null and new.locked_by is null) execute function test_watch();
  listen test_watch`;

/** Postpones the next attempt of a failed job. By its name it fires after `test_failed`, which reports the delay of the service. */
const HOLD = `
  create function test_hold() returns trigger language plpgsql as $$
  begin
    new.run_at := now() + interval '1 hour';
    return new;
  end $$;
  create trigger test_hold before update on graphile_worker._private_jobs
    for each row when (old.locked_by is not null and new.locked_by is null) execute function test_hold()`;

/** Listens for the results of the jobs of a database. */
export class JobWatch {
  readonly #results: JobResult[] = [];
  readonly #events = new EventEmitter().setMaxListeners(0);

  private constructor(private readonly client: pg.Client) {
    client.on('notification', ({ payload }) => {
      this.#results.push(JSON.parse(payload!) as JobResult);
      this.#events.emit('result');
    });
  }

  static async on(databaseUrl: string): Promise<JobWatch> {
    const client = await connect(databaseUrl);
    const watch = new JobWatch(client);
    await client.query(WATCH);
    return watch;
  }

  /** Waits until this many attempts of the job about this id have failed. With a kind, only a job of this kind counts. */
  async untilFailed(about: string, attempts = 1, kind?: string): Promise<Job> {
    const isMatch = (job: JobResult) => job.about === about && (kind === undefined || job.kind === kind);
    const failed = (job: JobResult) => !job.done && isMatch(job) && job.attempts >= attempts;
    return (await this.#until(1, failed))[0]!;
  }

  /** Waits until this many jobs of this kind are done. With an id, only the jobs about this id count. */
  async untilDone(kind: string, about?: string, count = 1): Promise<Job[]> {
    const isOfKind = (job: JobResult) => job.kind === kind && (about === undefined || job.about === about);
    return this.#until(count, (job) => job.done && isOfKind(job));
  }

  close(): Promise<void> {
    return this.client.end();
  }

  async #until(count: number, matches: (job: JobResult) => boolean): Promise<Job[]> {
    for (;;) {
      const found = this.#results.filter(matches);
      if (found.length >= count) return found;
      await once(this.#events, 'result');
    }
  }
}

interface MailHarnessOptions extends ServiceOptions {
  /** The user name and the password in SMTP_URL. */
  readonly credentials?: `${string}@`;
  /** The query parameters of SMTP_URL. */
  readonly parameters?: `?${string}`;
}

/** A service, its mail server, and the results of its jobs. */
export class MailHarness {
  private constructor(
    readonly smtp: SmtpServer,
    readonly service: Service,
    readonly jobs: JobWatch,
  ) {}

  static async start(options: MailHarnessOptions = {}): Promise<MailHarness> {
    const smtp = await SmtpServer.start();
    const SMTP_URL = `smtp://${options.credentials ?? ''}127.0.0.1:${smtp.port}${options.parameters ?? ''}`;
    const environment = { SMTP_URL, MAIL_FROM, PUBLIC_URL, ...options.environment };
    const service = await Service.start({ ...options, environment });
    return new MailHarness(smtp, service, await JobWatch.on(service.databaseUrl));
  }

  get licenses(): LicensesService {
    return this.service.app.get(LicensesService);
  }

  /** Records a paid purchase. @returns the id of its license */
  async sell(email: string): Promise<string> {
    const purchases = this.service.app.get(PurchasesService);
    const transaction_id = `sold-to-${email}`;
    return (await purchases.record({ transaction_id, email, status: 'paid' })).license_id!;
  }

  /** Reads the kinds of the waiting mails about this id. */
  async waitingMails(about: string): Promise<string[]> {
    const sql = `select regexp_replace(identifier, '^mail_', '') as kind from graphile_worker._private_jobs
      join graphile_worker._private_tasks t on t.id = task_id where payload->>'about' = $1 order by 1`;
    return (await this.service.sql<{ kind: string }>(sql, [about])).map(({ kind }) => kind);
  }

  /** Makes all waiting jobs due now, and wakes the workers. @param attempts replaces the number of their earlier attempts */
  async runWaitingJobs(attempts?: number): Promise<void> {
    await this.service.sql(
      `select graphile_worker.reschedule_jobs(
         array(select id from graphile_worker.jobs where locked_by is null and attempts < max_attempts),
         run_at := now(), attempts := $1), pg_notify('jobs:insert', '{"count": 5}')`,
      [attempts ?? null],
    );
  }

  /** From now on, no job that has failed is attempted again before `runWaitingJobs`, however slow the test is. */
  async holdRetries(): Promise<void> {
    await this.service.sql(HOLD);
  }

  async close(): Promise<void> {
    await this.jobs.close();
    await this.smtp.close();
    await this.service.close();
  }
}
