import { beforeAll, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { TELEMETRY_NAMES } from '../../src/telemetry/telemetry.fields.js';
import { RetentionService } from '../../src/retention/retention.service.js';
import { Service, MINUTE_MS } from '../support/harness.js';
import {
  linkRowsOfOneMachine,
  linkActivationsToRows,
  arrivalOrders,
  sortableTraces,
  tracesOf,
  type Guess,
  type Tables,
  type Traces,
} from './attack.js';

/*
 * An attacker who can read the whole database tries to find out which telemetry belongs to which machine. The tests need no
 * seed: only ids and the order of rows are random, and the attack finds a real link whatever their values are.
 *
 * The attack does not use what no store can hide: the values of a row (a rare Mac, an uptime that grows from row to row)
 * and its day, which identifies the machine on a day with a single machine.
 */

const CLIENTS = 200;
const HEARTBEATS_PER_CLIENT = 3;
const ROWS = CLIENTS * HEARTBEATS_PER_CLIENT;
/**
 * If rows show nothing about their machine, one of 200 guesses is right on average. A given set of k guesses is right with a
 * probability of at most 3^k / (600 · 599 · …), and there are 200 choose k such sets, so at least k are right with a
 * probability of at most 1/k!. For k = 13 that is less than 2 in 10,000,000,000.
 */
const IMPROBABLE_ACTIVATION_LINKS = 13;
/**
 * In the same way: each of at most 599 pairs is right with a probability of 2/599, so 19 or more are right with a probability
 * of less than 1 in 10,000,000,000.
 */
const IMPROBABLE_ROW_PAIRS = 19;
/**
 * Of the first 300 rows in a random order, 150 are on average among the 300 that came first. 60 more or fewer are among them
 * with a probability of less than 2·e^(-2·60²/300), which is less than 1 in 10,000,000,000.
 */
const IMPROBABLE_HALF_SCORE = 60;

/** A store of activations and telemetry: the service or the control. The values of a row are the client and the heartbeat. */
interface Store {
  /** @returns the activation's id */
  activate(client: number): Promise<string>;
  beat(client: number, beat: number): Promise<void>;
}

/** The stored rows, and the solution, which the attacker does not see: the client and the heartbeat of each row. */
interface Evidence {
  readonly tables: Tables;
  readonly clientOf: { readonly activations: readonly number[]; readonly rows: readonly number[] };
  readonly beatOf: readonly number[];
}

let service: Service;
beforeAll(async () => {
  service = await Service.start();
  // A store without protection: each row has a number and a time, and each heartbeat updates its activation.
  await service.sql(`
    create schema naive
      create table activation (id uuid primary key, activated_at timestamptz not null, seen_at timestamptz)
      create table telemetry (id bigserial, created_at timestamptz, received_on date, uptime_hours int, cpu_cores int)`);
});

const licenses: { license_key: string; email: string }[] = [];
const tokens: string[] = [];
const real: Store = {
  // The license of a client is issued at its first activation, so that the id of the license contains the time as well.
  async activate(client) {
    const license = (licenses[client] ??= await service.issue({ machines_allowed: 2 }));
    const { json } = await service.activate(license, randomUUID());
    tokens[client] = json.token;
    return json.activation.id;
  },
  async beat(client, beat) {
    const telemetry = { uptime_hours: client, cpu_cores: beat };
    const { json } = await service.heartbeat(tokens[client]!, { telemetry });
    expect(json.telemetry).toEqual({ stored: true, dropped: [] });
  },
};

const naiveIds: string[] = [];
const naive: Store = {
  async activate(client) {
    const id = (naiveIds[client] = uuidv7());
    await service.sql('insert into naive.activation values ($1, $2)', [id, service.clock.now()]);
    return id;
  },
  async beat(client, beat) {
    await service.sql(
      `with seen as (update naive.activation set seen_at = $2 where id = $1)
       insert into naive.telemetry (created_at, received_on, uptime_hours, cpu_cores) values ($2, $2, $3, $4)`,
      [naiveIds[client], service.clock.now(), client, beat],
    );
  },
};

/** The clients send one after the other, 1.5 minutes apart, and again every six hours. */
async function simulateQuietDay(store: Store, day: string): Promise<Map<string, number>> {
  const clients = new Map<string, number>();
  for (let beat = 0; beat < HEARTBEATS_PER_CLIENT; beat += 1) {
    for (let client = 0; client < CLIENTS; client += 1) {
      const minutes = 10 + beat * 6 * 60 + client * 1.5;
      service.clock.set(new Date(Date.parse(day) + minutes * MINUTE_MS));
      if (beat === 0) clients.set(await store.activate(client), client);
      await store.beat(client, beat);
    }
  }
  return clients;
}

/** All clients send concurrently. */
async function simulateBusyDay(store: Store, day: string): Promise<Map<string, number>> {
  const clients = new Map<string, number>();
  service.clock.set(`${day}T13:00:00Z`);
  const runClient = async (client: number) => {
    service.clock.advance(1);
    clients.set(await store.activate(client), client);
    for (let beat = 0; beat < HEARTBEATS_PER_CLIENT; beat += 1) await store.beat(client, beat);
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, client) => runClient(client)));
  return clients;
}

async function collectEvidence(
  [activation, telemetry]: readonly [string, string],
  day: string,
  clients: Map<string, number>,
): Promise<Evidence> {
  const read = async (table: string, where: string) => {
    const found = await service.sql<{ traces: Traces }>(tracesOf(table, where), [TELEMETRY_NAMES]);
    return found.map(({ traces }) => sortableTraces(traces));
  };
  const activations = await read(activation, `activated_at::date = '${day}'`);
  const rows = await read(telemetry, `received_on = '${day}'`);
  expect([activations.length, rows.length]).toEqual([CLIENTS, ROWS]);
  const solution = await service.sql<{ client: number; beat: number }>(
    `select uptime_hours as client, cpu_cores as beat from ${telemetry} t where received_on = '${day}'
     order by t.tableoid, t.ctid`,
  );
  return {
    tables: { activations, rows },
    clientOf: {
      activations: activations.map(({ id }) => clients.get(id!)!),
      rows: solution.map(({ client }) => client),
    },
    beatOf: solution.map(({ beat }) => beat),
  };
}

/** How much a strategy finds out, as a number. */
interface Score {
  readonly strategy: string;
  readonly score: number;
}

const rate = (guesses: readonly Guess[], left: readonly number[], right: readonly number[]): Score[] =>
  guesses.map(({ strategy, pairs }) => ({
    strategy,
    score: pairs.filter(([a, b]) => left[a] === right[b]).length,
  }));

const scoreActivationsOfRows = ({ tables, clientOf }: Evidence) =>
  rate(linkActivationsToRows(tables), clientOf.activations, clientOf.rows);

const scoreRowPairs = ({ tables, clientOf }: Evidence) =>
  rate(linkRowsOfOneMachine(tables), clientOf.rows, clientOf.rows);

/** Scores how well each order shows which rows of the quiet day came first; a random order has a score near 0. */
function scoreHalves({ tables, clientOf, beatOf }: Evidence): Score[] {
  const isEarly = (row: number) => beatOf[row]! * CLIENTS + clientOf.rows[row]! < ROWS / 2;
  return arrivalOrders(tables).map(({ strategy, order }) => {
    const early = order.slice(0, ROWS / 2).filter(isEarly).length;
    return { strategy, score: Math.abs(early - ROWS / 4) };
  });
}

const best = (scores: readonly Score[]) => Math.max(...scores.map(({ score }) => score));
const improbableScores = (scores: readonly Score[], limit: number) =>
  scores.filter(({ score }) => score >= limit);
const NEARLY_ALL = 0.95;

const CONTROL = ['naive.activation', 'naive.telemetry'] as const;

test('the attack works: it links nearly all activations to rows of an unprotected store, on a quiet day and on a busy one', async () => {
  const quiet = await collectEvidence(CONTROL, '2026-11-21', await simulateQuietDay(naive, '2026-11-21'));
  expect(best(scoreActivationsOfRows(quiet))).toBeGreaterThanOrEqual(NEARLY_ALL * CLIENTS);
  expect(best(scoreRowPairs(quiet))).toBeGreaterThanOrEqual(NEARLY_ALL * (ROWS - CLIENTS));
  expect(best(scoreHalves(quiet))).toBe(ROWS / 4);
  const busy = await collectEvidence(CONTROL, '2026-11-22', await simulateBusyDay(naive, '2026-11-22'));
  expect(best(scoreActivationsOfRows(busy))).toBeGreaterThanOrEqual(NEARLY_ALL * CLIENTS);
});

// Until the retention run, the batches are in the inbox in the order of their arrival; here each row is a batch. The guarantee
// holds after the run.
test('on a quiet day the attack links rows before the retention run, and only by chance after it', async () => {
  const clients = await simulateQuietDay(real, '2026-11-23');
  const before = await collectEvidence(['activation', 'telemetry_inbox'], '2026-11-23', clients);
  expect(best(scoreActivationsOfRows(before))).toBeGreaterThanOrEqual(NEARLY_ALL * CLIENTS);
  expect(best(scoreRowPairs(before))).toBeGreaterThanOrEqual(NEARLY_ALL * (ROWS - CLIENTS));
  await service.app.get(RetentionService).run(new Date('2026-11-24T00:05:00Z'));
  const after = await collectEvidence(['activation', 'telemetry'], '2026-11-23', clients);
  expect(improbableScores(scoreActivationsOfRows(after), IMPROBABLE_ACTIVATION_LINKS)).toEqual([]);
  expect(improbableScores(scoreRowPairs(after), IMPROBABLE_ROW_PAIRS)).toEqual([]);
  expect(improbableScores(scoreHalves(after), IMPROBABLE_HALF_SCORE)).toEqual([]);
});

test('on a busy day the rows of a batch are in random order before the retention run, and the attack links rows only by chance after it', async () => {
  const clients = await simulateBusyDay(real, '2026-11-24');
  const batches = await service.sql<{ ids: string[] }>(
    'select array_agg(id::text order by ctid) as ids from telemetry_inbox group by xmin::text',
  );
  expect(Math.max(...batches.map(({ ids }) => ids.length))).toBeGreaterThan(3);
  for (const { ids } of batches) expect(ids).toEqual(ids.toSorted());
  await service.app.get(RetentionService).run(new Date('2026-11-25T00:05:00Z'));
  const after = await collectEvidence(['activation', 'telemetry'], '2026-11-24', clients);
  expect(improbableScores(scoreActivationsOfRows(after), IMPROBABLE_ACTIVATION_LINKS)).toEqual([]);
  expect(improbableScores(scoreRowPairs(after), IMPROBABLE_ROW_PAIRS)).toEqual([]);
});
