import { RetentionService, type RetentionReport } from '../../src/retention/retention.service.js';
import { answered, Service, type Answer } from '../support/harness.js';

/** The members of a telemetry block that a test is about; the rest is null. */
export type Says = Readonly<Record<string, string | number | null>>;

/** A service whose fleet is made of the rows a test puts in, and a member of the staff who asks about it. */
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

  /** Receives so many heartbeats of a day with the same content. */
  async receive(day: string, heartbeats: number, says: Says = {}): Promise<void> {
    const names = Object.keys(says);
    const places = names.map((_name, index) => `, $${index + 3}`);
    await this.service.sql(
      `insert into telemetry_inbox (id, received_on${names.map((name) => `, ${name}`).join('')})
       select gen_random_uuid(), $1::date${places.join('')} from generate_series(1, $2::integer)`,
      [day, heartbeats, ...Object.values(says)],
    );
  }

  /** The run after the midnight with which a day begins. */
  async night(day: string): Promise<RetentionReport> {
    const today = this.service.clock.now();
    this.service.clock.set(`${day}T00:05:00Z`);
    const report = await this.service.app.get(RetentionService).run(this.service.clock.now());
    this.service.clock.set(today);
    return report!;
  }

  /** What staff are shown. */
  async ask(query = ''): Promise<Answer> {
    const authorization = `Bearer ${this.token}`;
    return answered(() =>
      this.service.call('GET', `/support/api/fleet${query}`, undefined, { authorization }),
    );
  }

  /** No telemetry was ever received. */
  async forget(): Promise<void> {
    await this.service.sql('truncate telemetry_inbox, telemetry_inbox_draining, telemetry');
    await this.service.sql('truncate fleet_week cascade');
  }
}
