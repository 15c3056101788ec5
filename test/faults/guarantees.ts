import { expect } from '@jest/globals';
import type pg from 'pg';
import { withClient } from '../support/databases/replica-harness.js';
import { STORED_TELEMETRY } from '../support/tables.js';
import {
  NEEDS_DATABASE,
  isServedByDatabase,
  isActivated,
  type FaultedService,
  type RecordedAnswer,
  type Recovery,
} from './harness.js';

/** The longest time a client waits for a response during any fault (docs/decisions/0004). */
export const ANSWER_LIMIT_MS = 2_000;
/**
 * The calls with another limit. A readiness probe answers within a second. A call from a page in a browser has no limit as a whole,
 * because the page could not tell whether an interrupted action took effect. A search is such a call: it takes as long as its
 * statements, and the proxy waits 5 seconds for it (`timeout server` in deploy/haproxy.cfg).
 */
const OTHER_LIMITS_MS: Readonly<Record<string, number>> = { search: 5_000, ready: 1_000 };
/** A recovery may take this time plus `MAX_SLOWDOWN` times the duration of the same calls without a fault. */
const MAX_RECOVERY_MS = 10_000;
/** The factor by which the durations of equal calls may differ on a computer with other load. */
const MAX_SLOWDOWN = 10;
/** More calls than the connection pool has connections, so that each connection is used. */
const CALLS_FOR_EVERY_CONNECTION = 40;

/** The effects that only some faults may have. */
export interface ToleratedEffects {
  /** Whether connections may break. A call on a broken connection counts as not acknowledged. */
  readonly mayBreakConnections?: boolean;
  /** Whether calls that do not need the database may get a 503 too, because of the load. */
  readonly mayShedLoad?: boolean;
}

/** Checks the guarantees that hold during every fault, with all responses that the load of the test has recorded. */
export async function expectGuarantees(
  faulted: FaultedService,
  answers: readonly RecordedAnswer[],
  recovery: Recovery,
  tolerated: ToleratedEffects = {},
): Promise<void> {
  expect(faulted.process.isRunning).toBe(true);
  expect(recovery.durationMs).toBeLessThan(MAX_RECOVERY_MS + MAX_SLOWDOWN * recovery.withoutFaultMs);
  expectInTime(answers);
  expectNoOtherRefusals(answers, tolerated);
  expectNoFalseStop(answers);
  // One connection for all statements, because opening one takes the server longer than most of them.
  await withClient(faulted.databaseUrl, async (client) => {
    await expectNothingLost(client, answers);
    await expectNoOpenTransactions(client, faulted);
  });
}

// The duration is in the time of the event loop of the service (`test/support/loop-time.ts`), in which other load of the computer
// hardly counts. A call whose connection broke has no duration.
function expectInTime(answers: readonly RecordedAnswer[]): void {
  const late = answers.filter(
    ({ name, status, serviceMs }) =>
      status !== 0 && !(serviceMs < (OTHER_LIMITS_MS[name] ?? ANSWER_LIMIT_MS)),
  );
  expect(late.map(({ name, status, serviceMs }) => ({ name, status, serviceMs }))).toEqual([]);
}

// A call succeeds or gets a 503 with `retry`. A `contend` call may also be refused because other machines reached the limit, and
// with `mayBreakConnections` a call may get no response.
function expectNoOtherRefusals(
  answers: readonly RecordedAnswer[],
  { mayBreakConnections = false, mayShedLoad = false }: ToleratedEffects,
): void {
  for (const { name, status, json, headers } of answers) {
    if (status >= 200 && status < 300) continue;
    if (status === 0 && mayBreakConnections) continue;
    if (name === 'contend' && json.code === 'machine_limit_reached') continue;
    expect([name, status, json.code, json.client_action]).toEqual([name, 503, 'unavailable', 'retry']);
    if (!mayShedLoad) expect(NEEDS_DATABASE).toContain(name);
    expect(headers['retry-after']).toMatch(/^\d+$/);
  }
}

// A machine that was activated must not be refused later because of the machine limit.
function expectNoFalseStop(answers: readonly RecordedAnswer[]): void {
  const byMachine = Map.groupBy(
    answers.filter(({ name }) => name === 'contend'),
    ({ request }) => request.machine,
  );
  for (const [machine, calls] of byMachine) {
    const activatedAt = calls
      .filter(isActivated)
      .map(({ request, milliseconds }) => request.sentAt + milliseconds);
    const refused = calls.filter(
      ({ status, request }) => status === 409 && request.sentAt > Math.min(...activatedAt),
    );
    expect([machine, refused.length]).toEqual([machine, 0]);
  }
}

/** Expects that nothing acknowledged is lost or written twice, and that no license has more machines than it allows. */
async function expectNothingLost(client: pg.Client, answers: readonly RecordedAnswer[]): Promise<void> {
  const acknowledged = answers.filter(isActivated).map(({ json }) => json.activation.id as string);
  expect(acknowledged.length).toBeGreaterThan(0);
  const active = 'select id from activation where ended_at is null';
  const { rows } = await client.query<{ id: string }>(active);
  const ids = new Set(rows.map(({ id }) => id));
  expect(acknowledged.filter((id) => !ids.has(id))).toEqual([]);
  const overLimit = await client.query(
    `select l.id, count(*) from license l join activation a on a.license_id = l.id and a.ended_at is null
     group by l.id having count(*) > l.machines_allowed`,
  );
  expect(overLimit.rows).toEqual([]);

  const stored = answers.filter(({ json }) => json?.telemetry?.stored === true);
  expect(stored.length).toBeGreaterThan(0);
  // Each heartbeat with telemetry has its own `uptime_hours`, which identifies its row.
  const { rows: counted } = await client.query<{ uptime_hours: number; rows: number }>(
    `select uptime_hours, count(*)::int as rows from ${STORED_TELEMETRY} group by 1`,
  );
  const rowCounts = new Map(counted.map(({ uptime_hours, rows }) => [uptime_hours, rows]));
  expect(counted.filter(({ rows }) => rows !== 1)).toEqual([]);
  expect(
    stored.filter(({ request }) => !rowCounts.has(request.uptime_hours!)).map(({ request }) => request),
  ).toEqual([]);
}

/** Expects that no transaction stays open, and that activations on all connections of the pool are committed. */
async function expectNoOpenTransactions(client: pg.Client, faulted: FaultedService): Promise<void> {
  // A statement whose request got 503 may still complete. A transaction that has been idle for 4 seconds was forgotten by the
  // service. After 5 seconds the database would end it, and so hide it.
  const selectOpen = `select state <> 'active' and now() - state_change > interval '4 seconds' as is_left, state, query
    from pg_stat_activity
    where application_name = 'mooring' and state <> 'idle'`;
  for (;;) {
    const { rows } = await client.query<{ is_left: boolean }>(selectOpen);
    if (rows.length === 0) break;
    expect(rows.filter(({ is_left }) => is_left)).toEqual([]);
  }
  // On a slow computer a call may get 503, and a client repeats it.
  const activateWithRetries = async (): Promise<RecordedAnswer> => {
    const answer = await faulted.activate();
    return answer.status === 503 ? activateWithRetries() : answer;
  };
  const answers = await Promise.all(Array.from({ length: CALLS_FOR_EVERY_CONNECTION }, activateWithRetries));
  expect(answers.filter((answer) => !isServedByDatabase(answer))).toEqual([]);
  const ids = answers.map(({ json }) => json.activation.id as string);
  const committed = await client.query('select from activation where id = any($1)', [ids]);
  expect(committed.rowCount).toBe(CALLS_FOR_EVERY_CONNECTION);
}
