import { afterEach, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { RetentionHarness } from './harness.js';

const NOW = '2026-11-20T00:05:00Z';

const harness = await RetentionHarness.start();
await harness.receive({ '2024-09-10': 1 });
await harness.run('2024-10-01T12:00:00Z');

const purchase = randomUUID();
// The license `due` is deleted by the run at NOW. The license `ended` is due a day later; the run ends its active activation.
const [due, ended, valid] = [randomUUID(), randomUUID(), randomUUID()];
const license = (id: string, ended_at: string, purchase_id: string) =>
  `insert into license values ('${id}', sha256('${id}'), 'AB', 1, null, 'active', 1, null, 'keep', ${purchase_id}, '2010-01-01', ${ended_at}, '2010-01-01');`;
const activation = (license_id: string, ended_at: string) =>
  `insert into activation (id, license_id, machine_id, app_version, activated_at, ended_at, ended_reason)
   select gen_random_uuid(), '${license_id}', sha256('a'), '1.0', '2010-01-01', ${ended_at}::timestamptz,
          case when ${ended_at}::date is not null then 'released' end;`;
const telemetry = (table: string, day: string, rows: number) =>
  `insert into ${table} (id, received_on, soc_name) select gen_random_uuid(), '${day}', n::text from generate_series(1, ${rows}) n;`;

// Creates two months that are due as a whole, one that is partly due, and due rows in other tables. It is one query, because
// the test runs it many times.
const FILL = `
  delete from telemetry; delete from telemetry_inbox; delete from activation; delete from license; delete from purchase;
  delete from one_time_code; delete from fleet_week;
  create table if not exists telemetry_2024_09 partition of telemetry for values from ('2024-09-01') to ('2024-10-01');
  create table if not exists telemetry_2024_10 partition of telemetry for values from ('2024-10-01') to ('2024-11-01');
  ${telemetry('telemetry', '2024-09-10', 3)} ${telemetry('telemetry', '2024-10-31', 4)}
  ${telemetry('telemetry', '2024-11-20', 5)} ${telemetry('telemetry', '2024-11-21', 6)}
  ${telemetry('telemetry_inbox', '2026-11-12', 300)} ${telemetry('telemetry_inbox', '2026-11-19', 7)}
  ${telemetry('telemetry_inbox', '2026-11-20', 8)}
  insert into fleet_week values ('2026-11-08');
  insert into purchase values ('${purchase}', 't', 'ada@example.com', 'paid', '2015-05-05', true);
  ${license(due, "'2025-11-20'", 'null')} ${license(ended, "'2025-11-21'", 'null')}
  ${license(valid, 'null', `'${purchase}'`)}
  ${activation(due, "'2026-10-20'")} ${activation(ended, 'null')} ${activation(ended, "'2025-11-21'")}
  ${activation(valid, "'2025-11-20'")} ${activation(valid, 'null')}
  insert into one_time_code (id, email, created_at, expires_at) values
    (gen_random_uuid(), 'ada@example.com', '2010-01-01', '2026-11-19'),
    (gen_random_uuid(), 'ada@example.com', '2010-01-01', '${NOW}');`;

/** The rows that a run may change, without values that differ from run to run. */
async function readState() {
  return {
    partitions: await harness.partitions(),
    detached:
      await harness.sql(`select relname from pg_class where relkind = 'r' and relname ~ '^telemetry_\\d'
                     and oid not in (select inhrelid from pg_inherits) order by 1`),
    telemetry: await harness.sql('select received_on::text, soc_name from telemetry order by 1, 2'),
    inbox: await harness.sql('select received_on::text, soc_name from telemetry_inbox order by 1, 2'),
    weeks: await harness.sql('select week_end::text from fleet_week order by 1'),
    cells: await harness.sql('select week_end::text, dimension, heartbeats from fleet_cell order by 1, 2'),
    licenses: await harness.sql('select ended_at, purchase_id, staff_status from license order by 1'),
    activations: await harness.sql('select ended_at from activation order by 1'),
    codes: await harness.sql('select expires_at from one_time_code order by 1'),
    purchases: await harness.sql('select recorded_on from purchase'),
  };
}

/** The ids of the rows that no run may delete. */
async function keptIds(): Promise<string[]> {
  const rows = await harness.sql<{ id: string }>(`
    select id from telemetry where received_on >= '2024-11-21'
    union all select id from telemetry_inbox where received_on >= '2024-11-21'
    union all select id from telemetry_inbox_draining where received_on >= '2024-11-21'
    union all select id from license where ended_at is null or ended_at >= '2025-11-21'
    union all select id from activation a where (ended_at is null or ended_at >= '2025-11-21')
      and license_id in (select id from license where ended_at is null or ended_at >= '2025-11-21')
    union all select id from one_time_code where expires_at >= '${NOW}' order by 1`);
  return rows.map(({ id }) => id);
}

const { query } = pg.Client.prototype;
const restoreQuery = () => void (pg.Client.prototype.query = query);
afterEach(restoreQuery);

interface Sent {
  readonly text: string;
  /** Whether the statement may have changed more than the state of its connection, such as a setting or a lock. */
  hasChanged: boolean;
}

/** Whether a statement only reads, or found no row to change. */
const changedNothing = ({ command, rowCount }: pg.QueryResult) =>
  /^(SELECT|SET|SHOW|LOCK|BEGIN|START)/.test(command) || rowCount === 0;

/** Terminates the connection of a run at its n-th statement. @returns the run's statements, as it sends them */
function killAt(number: number): Sent[] {
  const statements: Sent[] = [];
  const isOfRun = (client: unknown) =>
    (client as { connectionParameters: { application_name?: string } }).connectionParameters
      .application_name === 'mooring (maintenance)';
  pg.Client.prototype.query = async function (this: pg.Client & { processID: number }, ...args: unknown[]) {
    const statement = args[0] as string | { text: string };
    const text = typeof statement === 'string' ? statement : statement.text;
    const execute = () => Reflect.apply(query, this, args) as Promise<pg.QueryResult | pg.QueryResult[]>;
    // TypeORM sends statements of its own before the run sets its lock_timeout.
    if (!isOfRun(this) || (statements.length === 0 && !text.includes('lock_timeout'))) return execute();
    const sent = { text: text.trim(), hasChanged: true };
    if (statements.push(sent) === number)
      await harness.sql('select pg_terminate_backend($1, 5000)', [this.processID]);
    const result = await execute();
    sent.hasChanged = ![result].flat().every(changedNothing);
    return result;
  } as typeof query;
  return statements;
}

test('a run that is killed at any statement deletes no row that must stay, and the next run has the result of a run that was not killed', async () => {
  await harness.sql(FILL);
  const statements = killAt(Infinity);
  await harness.run(NOW);
  restoreQuery();
  const expected = await readState();
  expect(expected).toMatchObject({
    detached: [],
    // 6 rows that are not due, and 307 from the inbox.
    telemetry: Array(313).fill(expect.anything()),
    inbox: Array(8).fill(expect.anything()),
    weeks: [{ week_end: '2026-11-08' }, { week_end: '2026-11-15' }],
    activations: Array(3).fill(expect.anything()),
  });
  // These steps of a run occur among the statements.
  for (const step of [
    /rename to telemetry_inbox/,
    /^insert into telemetry select/,
    /^insert into telemetry_inbox/,
    /^truncate/,
    /into fleet_week/,
    /detach .* concurrently/,
    /^drop/,
    /^update retention_run/,
  ])
    expect(statements.some(({ text, hasChanged }) => hasChanged && step.test(text))).toBe(true);
  for (let number = 1; number <= statements.length; number += 1) {
    // If the previous statement changed nothing, this kill would leave the same rows as the kill before that statement.
    if (number > 1 && !statements[number - 2]!.hasChanged) continue;
    await harness.sql(FILL);
    const before = await keptIds();
    killAt(number);
    await expect(harness.retention.run(new Date(NOW))).rejects.toThrow();
    restoreQuery();
    expect({ number, keptIds: await keptIds() }).toEqual({ number, keptIds: before });
    await harness.run(NOW);
    expect({ number, ...(await readState()) }).toEqual({ number, ...expected });
    expect(await keptIds()).toEqual(before);
  }
});
