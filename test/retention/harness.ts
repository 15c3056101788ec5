import { randomBytes, randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { expect } from '@jest/globals';
import pg from 'pg';
import type { Clock } from '../../src/core/clock.js';
import { Config } from '../../src/core/config.js';
import { DatabaseUrl, withMaintenanceConnection } from '../../src/database/data-source.js';
import { RetentionService, type RetentionReport } from '../../src/retention/retention.service.js';
import { createPartitions } from '../../src/telemetry/partitions.js';
import { createDatabase, FakeClock } from '../support/harness.js';
import { afterThisFile } from '../support/of-this-file.js';

type Row = Readonly<Record<string, unknown>>;

/** Default values of the columns that a test does not set. */
const DEFAULTS: Readonly<Record<string, () => Row>> = {
  telemetry_inbox: () => ({ id: randomUUID() }),
  repeated_erasure: () => ({ erasure_request_id: randomUUID() }),
  telemetry: () => ({ id: randomUUID() }),
  fleet_week: () => ({}),
  fleet_cell: () => ({ dimension: 'mac_model', is_other: true, heartbeats: 280 }),
  fleet_latency: () => ({ soc_name: 'Apple M3', p50: 1, p90: 2, p95: 3 }),
  crash_week: () => ({ crash_sig: '0123456789abcdef', crashes: 1 }),
  license: () => ({
    id: randomUUID(),
    key_hash: randomBytes(32),
    key_hint: 'AB',
    email: 'ada@example.com',
    machines_allowed: 1,
    on_expiry: 'keep',
    created_at: '2010-01-01',
    end_changed_at: '2010-01-01',
  }),
  activation: () => ({
    id: randomUUID(),
    machine_id: randomBytes(32),
    app_version: '3.2.0',
    activated_at: '2010-01-01',
  }),
  release_request: () => ({ id: randomUUID(), asked_at: '2010-01-01' }),
  purchase: () => ({ id: randomUUID(), transaction_id: randomUUID(), state: 'paid', paid: true }),
  one_time_code: () => ({ id: randomUUID(), email: 'ada@example.com', created_at: '2010-01-01' }),
  staff: () => ({
    id: randomUUID(),
    email: `${randomUUID()}@example.com`,
    role: 'support',
    created_at: '2010-01-01',
  }),
  session: () => ({
    id: randomUUID(),
    token_hash: randomBytes(32),
    email: 'ada@example.com',
    created_at: '2010-01-01',
  }),
  staff_link: () => ({
    id: randomUUID(),
    token_hash: randomBytes(32),
    mailed: false,
    created_at: '2010-01-01',
  }),
  passkey_challenge: () => ({ id: randomUUID(), challenge: randomBytes(32) }),
  staff_token: () => ({ id: randomUUID(), token_hash: randomBytes(32), created_at: '2010-01-01' }),
  mail_recipient: () => ({ mail_id: randomUUID(), email: 'ada@example.com' }),
  audit_event: () => ({ id: randomUUID(), actor: 'cli', action: 'license.set', change: {} }),
  outgoing_event: () => ({ type: 'license.issued', data: {}, occurred_at: '2010-01-01' }),
  erasure_request: () => ({
    id: randomUUID(),
    asked_by: 'staff',
    received_on: '2010-01-01',
    runs_at: '2010-01-01',
  }),
  retention_run: () => ({ id: randomUUID(), as_of: '2010-01-01' }),
};

/** A database and its retention service, without the application: no job runs unless a test starts it. */
export class RetentionHarness {
  readonly clock = new FakeClock();
  readonly retention: RetentionService;

  private constructor(
    readonly databaseUrl: string,
    readonly database: pg.Pool,
  ) {
    this.retention = this.instance();
  }

  /** Creates a database. */
  static async start(): Promise<RetentionHarness> {
    return RetentionHarness.forDatabase((await createDatabase()).url);
  }

  /** Uses an existing database, such as that of a service. */
  static forDatabase(databaseUrl: string): RetentionHarness {
    const database = new pg.Pool({ connectionString: databaseUrl, max: 6, options: '-c timezone=UTC' });
    database.on('error', () => undefined);
    afterThisFile(() => database.end());
    return new RetentionHarness(databaseUrl, database);
  }

  /** Creates a retention service like that of another instance. */
  instance(clock: Clock = this.clock, environment: Record<string, string> = {}): RetentionService {
    const config = new Config({ DATA_DIR: tmpdir(), ...environment });
    return new RetentionService(new DatabaseUrl(this.databaseUrl), clock, config);
  }

  /** Marks the last week as counted, so that a run does not spend time on the roll-up of years. */
  async disableRollUp(): Promise<void> {
    await this.sql(
      `insert into fleet_week values (date_trunc('week', $1::date)::date - 1) on conflict do nothing`,
      [this.clock.now()],
    );
  }

  /** Runs the retention for the time `asOf`, without rewriting the files of tables, and expects that no step fails. */
  async run(asOf: string, retention = this.retention): Promise<RetentionReport> {
    await this.sql('update file_rewrite set rewritten_at = $1', [this.clock.now()]);
    const report = await retention.run(new Date(asOf));
    expect(report?.failed).toEqual([]);
    return report!;
  }

  async sql<T extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<T[]> {
    return (await this.database.query<T>(text, values)).rows;
  }

  /** Inserts a row with these values, and default values in the other required columns. @returns all of them */
  async insert(table: string, values: Row): Promise<Row> {
    const row = { ...DEFAULTS[table]!(), ...values };
    const placeholders = Object.keys(row).map((_name, index) => `$${index + 1}`);
    await this.sql(
      `insert into ${table} (${Object.keys(row).join(', ')}) values (${placeholders.join(', ')})`,
      Object.values(row),
    );
    return row;
  }

  /** Inserts telemetry rows with random ids into the inbox. @param days the number of rows by day */
  async receive(days: Readonly<Record<string, number>>): Promise<void> {
    await this.sql(
      `insert into telemetry_inbox (id, received_on, uptime_hours, soc_name)
       select gen_random_uuid(), day::date, n, day || ' ' || n
       from jsonb_each_text($1) each (day, rows), generate_series(1, rows::integer) n`,
      [JSON.stringify(days)],
    );
  }

  /**
   * Stores telemetry rows with random ids as earlier runs leave them: in partitions, and not in the inbox.
   * @param days the number of rows by day
   */
  async store(days: Readonly<Record<string, number>>): Promise<void> {
    const times = Object.keys(days).map((day) => Date.parse(day));
    const [first, last] = [new Date(Math.min(...times)), new Date(Math.max(...times))];
    await withMaintenanceConnection(this.databaseUrl, (dataSource) =>
      createPartitions(dataSource.createQueryRunner(), first, last),
    );
    await this.sql(
      `insert into telemetry (id, received_on)
       select gen_random_uuid(), day::date from jsonb_each_text($1) each (day, rows), generate_series(1, rows::integer)`,
      [JSON.stringify(days)],
    );
  }

  /** The number of rows of a table by day. */
  async days(table: string): Promise<Record<string, number>> {
    const rows = await this.sql<{ day: string; rows: number }>(
      `select received_on::text as day, count(*)::int as rows from ${table} group by 1 order by 1`,
    );
    return Object.fromEntries(rows.map(({ day, rows }) => [day, rows]));
  }

  /** The months for which `telemetry` has a partition, such as `2026_11`, in ascending order. */
  async partitions(): Promise<string[]> {
    const rows = await this.sql<{ name: string }>(
      `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'telemetry'::regclass order by 1`,
    );
    return rows.map(({ name }) => name.replace('telemetry_', ''));
  }

  async count(table: string): Promise<number> {
    const [row] = await this.sql<{ rows: number }>(`select count(*)::int as rows from ${table}`);
    return row!.rows;
  }
}
