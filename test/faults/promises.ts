import { expect } from '@jest/globals';
import {
  NEEDS_DATABASE,
  served,
  takenSeat,
  type FaultedService,
  type RecordedAnswer,
  type Recovery,
} from './harness.js';

/** The longest time a client waits for a response during any fault (docs/contract.md#no-false-stop). */
export const ANSWER_LIMIT_MS = 2_000;
/**
 * Calls of the pages, which may be unsafe to repeat, and health checks have no deadline. They take as long as their statements,
 * and the proxy waits that long (deploy/haproxy.cfg).
 */
const LONGER_MS: Readonly<Record<string, number>> = { search: 5_000, ready: 3_000 };
/** The service recovers by itself within this time, beyond the time of as many calls without a fault. */
const RECOVERY_MS = 10_000;
/** By how much the durations of equal calls may differ on a machine with other load. */
const BUSY = 10;
/** More than the pool has connections, so that each of them is used. */
const EVERY_CONNECTION = 40;

/** The additional effects that a fault may have. */
export interface Tolerated {
  /** Connections may break. Then the service has acknowledged nothing. */
  readonly broken?: boolean;
  /** Load may be shed: any call except a health check may get a 503. */
  readonly shed?: boolean;
}

/** Checks the promises that hold during every fault against all answers before, during and after it. */
export async function expectPromises(
  faulted: FaultedService,
  answers: readonly RecordedAnswer[],
  recovery: Recovery,
  tolerated: Tolerated = {},
): Promise<void> {
  expect(faulted.process.running).toBe(true);
  expect(recovery.milliseconds).toBeLessThan(RECOVERY_MS + BUSY * recovery.withoutFault);
  expectInTime(answers);
  expectRetriesOnly(answers, tolerated);
  expectNoFalseStop(answers);
  await expectKept(faulted, answers);
  await expectNothingOpen(faulted);
}

// Measured by the event loop of the service (`test/support/loop-time.ts`), so that a slow machine makes no difference. A call
// whose connection broke has no duration.
function expectInTime(answers: readonly RecordedAnswer[]): void {
  const late = answers.filter(
    ({ name, status, ownMs }) => status !== 0 && !(ownMs < (LONGER_MS[name] ?? ANSWER_LIMIT_MS)),
  );
  expect(late.map(({ name, status, ownMs }) => ({ name, status, ownMs }))).toEqual([]);
}

// The only other response is a 503 with a retry. That another machine has the last place of a license is no error.
function expectRetriesOnly(
  answers: readonly RecordedAnswer[],
  { broken = false, shed = false }: Tolerated,
): void {
  for (const { name, status, json, headers } of answers) {
    if (status >= 200 && status < 300) continue;
    if (status === 0 && broken) continue;
    if (name === 'contend' && json.code === 'machine_limit_reached') continue;
    expect([name, status, json.code, json.client_action]).toEqual([name, 503, 'unavailable', 'retry']);
    if (!shed) expect(NEEDS_DATABASE).toContain(name);
    expect(headers['retry-after']).toMatch(/^\d+$/);
  }
}

// A machine that was activated is not refused later because of the machine limit.
function expectNoFalseStop(answers: readonly RecordedAnswer[]): void {
  const seats = Map.groupBy(
    answers.filter(({ name }) => name === 'contend'),
    ({ asked }) => asked.seat,
  );
  for (const [seat, ofSeat] of seats) {
    const given = ofSeat.filter(takenSeat).map(({ asked, milliseconds }) => asked.begun + milliseconds);
    const stopped = ofSeat.filter(({ status, asked }) => status === 409 && asked.begun > Math.min(...given));
    expect([seat, stopped.length]).toEqual([seat, 0]);
  }
}

/** Nothing acknowledged is lost or written twice, and no license has more machines than it allows. */
async function expectKept(faulted: FaultedService, answers: readonly RecordedAnswer[]): Promise<void> {
  const acknowledged = answers.filter(takenSeat).map(({ json }) => json.activation.id as string);
  expect(acknowledged.length).toBeGreaterThan(0);
  const active = 'select id from activation where ended_at is null';
  const rows = await faulted.sql<{ id: string }>(active);
  const ids = new Set(rows.map(({ id }) => id));
  expect(acknowledged.filter((id) => !ids.has(id))).toEqual([]);
  const crowded = await faulted.sql(
    `select l.id, count(*) from license l join activation a on a.license_id = l.id and a.ended_at is null
     group by l.id having count(*) > l.machines_allowed`,
  );
  expect(crowded).toEqual([]);

  const stored = answers.filter(({ json }) => json?.telemetry?.stored === true);
  expect(stored.length).toBeGreaterThan(0);
  const counted = await faulted.sql<{ uptime_hours: number; rows: number }>(
    'select uptime_hours, count(*)::int as rows from telemetry_inbox group by 1',
  );
  const times = new Map(counted.map(({ uptime_hours, rows }) => [uptime_hours, rows]));
  expect(counted.filter(({ rows }) => rows !== 1)).toEqual([]);
  expect(stored.filter(({ asked }) => !times.has(asked.uptime_hours!)).map(({ asked }) => asked)).toEqual([]);
}

/** No connection is left in an open transaction: later statements on each of them are committed. */
async function expectNothingOpen(faulted: FaultedService): Promise<void> {
  // A statement whose request got 503 may still complete. The database ends an open transaction after 5 seconds.
  const open = `select state <> 'active' and now() - state_change > interval '4 seconds' as is_left, state, query
    from pg_stat_activity
    where application_name = 'mooring' and state <> 'idle'`;
  for (;;) {
    const rows = await faulted.sql<{ is_left: boolean }>(open);
    if (rows.length === 0) break;
    expect(rows.filter(({ is_left }) => is_left)).toEqual([]);
  }
  // On a slow machine a call may get 503, and a client repeats it.
  const activated = async (): Promise<RecordedAnswer> => {
    const answer = await faulted.activate();
    return answer.status === 503 ? activated() : answer;
  };
  const answers = await Promise.all(Array.from({ length: EVERY_CONNECTION }, activated));
  expect(answers.filter((answer) => !served(answer))).toEqual([]);
  const ids = answers.map(({ json }) => json.activation.id as string);
  const seen = await faulted.sql('select from activation where id = any($1)', [ids]);
  expect(seen.length).toBe(EVERY_CONNECTION);
}
