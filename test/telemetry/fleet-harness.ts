import { RetentionService, type RetentionReport } from '../../src/retention/retention.service.js';
import { retryWhileUnavailable, Service, type Answer } from '../support/harness.js';

/** The members of a telemetry block that a test sets; the others are null. */
export type TelemetryValues = Readonly<Record<string, string | number | null>>;

/** A service whose telemetry is inserted by a test, and a staff token to read its counts. */
export class Fleet {
  private constructor(
    readonly service: Service,
    private readonly token: string,
  ) {}

  static async start(): Promise<Fleet> {
    return Fleet.of(await Service.start());
  }

  static async of(service: Service): Promise<Fleet> {
    return new Fleet(service, await service.staffToken());
  }

  /** Inserts this many telemetry rows of a day with the same values into the inbox. */
  async receive(day: string, heartbeats: number, values: TelemetryValues = {}): Promise<void> {
    const names = Object.keys(values);
    const placeholders = names.map((_name, index) => `, $${index + 3}`);
    await this.service.sql(
      `insert into telemetry_inbox (id, received_on${names.map((name) => `, ${name}`).join('')})
       select gen_random_uuid(), $1::date${placeholders.join('')} from generate_series(1, $2::integer)`,
      [day, heartbeats, ...Object.values(values)],
    );
  }

  /** Runs retention as if it were 00:05 UTC of this day. */
  async runRetention(day: string): Promise<RetentionReport> {
    const previousTime = this.service.clock.now();
    this.service.clock.set(`${day}T00:05:00Z`);
    const report = await this.service.app.get(RetentionService).run(this.service.clock.now());
    this.service.clock.set(previousTime);
    return report!;
  }

  /** Reads the counts as staff. */
  async readCounts(query = ''): Promise<Answer> {
    return this.call('GET', query);
  }

  /** Reads the crash groups as staff. */
  async readCrashGroups(query = ''): Promise<Answer> {
    return this.call('GET', `/crash-groups${query}`);
  }

  /** Sets the state of a crash group as staff. */
  async changeCrashGroup(sig: string, change: object, headers?: Record<string, string>): Promise<Answer> {
    const body = { reason: 'Looked at it.', ...change };
    return this.call('PATCH', `/crash-groups/${sig}`, body, headers);
  }

  private async call(method: string, path: string, body?: object, headers?: Record<string, string>) {
    const authorization = `Bearer ${this.token}`;
    return retryWhileUnavailable(() =>
      this.service.call(method, `/support/api/fleet${path}`, body, { authorization, ...headers }),
    );
  }

  /** Deletes all telemetry and all counts. */
  async clear(): Promise<void> {
    await this.service.sql('truncate telemetry_inbox, telemetry_inbox_draining, telemetry');
    await this.service.sql('truncate fleet_week cascade');
  }
}
