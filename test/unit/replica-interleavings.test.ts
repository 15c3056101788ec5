import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import type { DataSource } from 'typeorm';
import { Clock } from '../../src/core/clock.js';
import { Config } from '../../src/core/config.js';
import { REQUEST_TIMEOUTS_MS } from '../../src/database/request-timeouts.js';
import { Replica } from '../../src/heartbeat/replica.js';
import type { AppLogger } from '../../src/core/logger.js';
import { runs } from '../fuzz/fuzz.js';
import { releaseAll, releaseQueued } from '../support/interleavings.js';

// prettier-ignore
const ALL_BUT_TIMERS = [
  'Date', 'hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate', 'clearImmediate',
] as const;
beforeEach(() => void jest.useFakeTimers({ doNotFake: [...ALL_BUT_TIMERS] }));
afterEach(() => void jest.useRealTimers());

/** The interval at which `Replica` checks the replica. */
const CHECK_INTERVAL_MS = 2_000;
/**
 * `heartbeat`, `check` and `time limit` act at once, and `primary unavailable` turns the primary off or on. Each of the others sets
 * how the replica answers from then on.
 */
const COMMANDS = [
  'heartbeat',
  'check',
  'time limit',
  'healthy',
  'lagging',
  'failing',
  'reads failing',
  'primary unavailable',
] as const;
type Command = (typeof COMMANDS)[number];
interface Query {
  readonly values: [string[], string];
}

/**
 * A `Replica` whose queries to the replica and to the primary end in the order of a scheduler, and whose timers run when a
 * command advances the time.
 */
class ScheduledReplica {
  readonly replica: Replica;
  readonly violations: string[] = [];
  #mode: Command = 'healthy';
  #isPrimaryUnavailable = false;
  #runningChecks = 0;
  /** Queries are numbered in the order in which they are sent. */
  #lastQuery = 0;
  /** The last query that had been sent when the last failure was reported. */
  #lastQueryAtFailure = 0;
  /** The last query that was a check and found in time that the replica keeps up. */
  #lastSuccessfulCheck = 0;
  #heartbeats = 0;
  #now = Date.parse('2026-11-20T13:00:00Z');
  isClosed = false;

  constructor(private readonly scheduler: fc.Scheduler) {
    const clock = Object.assign(new Clock(), { now: () => new Date(this.#now) });
    const log = {
      info: () => this.#checkReuse(),
      failed: () => void (this.#lastQueryAtFailure = this.#lastQuery),
    };
    const url = 'postgres://127.0.0.1:1/unused';
    const config = new Config({ NODE_ENV: 'development', DATABASE_URL: url, DATABASE_READ_URL: url });
    const dataSource = { driver: { master: { query: () => this.#queryPrimaryPosition() } } };
    this.replica = new Replica(
      dataSource as unknown as DataSource,
      config,
      clock,
      log as unknown as AppLogger,
    );
    Object.assign(this.replica.pool!, { query: (query: Query) => this.#query(query) });
  }

  perform(command: Command): Promise<void> | void {
    if (command === 'heartbeat') return this.#heartbeat();
    if (command === 'check') this.#advance(CHECK_INTERVAL_MS);
    else if (command === 'time limit') this.#advance(REQUEST_TIMEOUTS_MS.replica);
    else if (command === 'primary unavailable') this.#isPrimaryUnavailable = !this.#isPrimaryUnavailable;
    else this.#mode = command;
  }

  #advance(milliseconds: number): void {
    this.#now += milliseconds;
    jest.advanceTimersByTime(milliseconds);
  }

  /** The result is the requested row or none: a heartbeat never fails because of a replica. */
  async #heartbeat(): Promise<void> {
    const id = `activation ${(this.#heartbeats += 1)}`;
    const found = await this.replica.find(id);
    if (found && found.activation_id !== id) this.violations.push('a heartbeat got the row of another one');
  }

  async #queryPrimaryPosition(): Promise<unknown> {
    if (this.isClosed) this.violations.push('a check began after the shutdown');
    if ((this.#runningChecks += 1) > 1) this.violations.push('two checks ran at the same time');
    const isUnavailable = this.#isPrimaryUnavailable;
    await this.scheduler.schedule(Promise.resolve(), 'position');
    this.#runningChecks -= 1;
    if (isUnavailable) throw new Error('the primary is unavailable');
    return { rows: [{ position: '0/1' }] };
  }

  async #query({ values: [ids] }: Query): Promise<unknown> {
    const query = (this.#lastQuery += 1);
    const isCheck = ids.length === 0;
    if (this.isClosed) throw new Error('Cannot use a pool after calling end on the pool');
    if (!isCheck && this.replica.isDegraded) this.violations.push('a degraded replica was queried');
    const mode = this.#mode;
    const deadline = this.#now + REQUEST_TIMEOUTS_MS.replica;
    await this.scheduler.schedule(Promise.resolve(), `${isCheck ? 'check' : 'read'} ${mode}`);
    if (mode === 'failing' || (mode === 'reads failing' && !isCheck))
      throw new Error('the replica is unavailable');
    const keeps_up = mode !== 'lagging';
    if (isCheck && keeps_up && this.#now < deadline) this.#lastSuccessfulCheck = query;
    const rows = ids.map((activation_id) => ({ activation_id, keeps_up }));
    return { rows: rows.length > 0 ? rows : [{ activation_id: null, keeps_up }] };
  }

  /** Called when `Replica` logs at the level `info`, which it does only when it begins to use the replica, or uses it again. */
  #checkReuse(): void {
    if (this.#lastSuccessfulCheck <= this.#lastQueryAtFailure)
      this.violations.push('the replica was used again before a later check succeeded');
  }
}

test('in any order of answers, failures and time limits, no heartbeat queries a degraded replica, and checks never overlap', () =>
  fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(
        fc.oneof(
          { weight: 3, arbitrary: fc.constantFrom<Command>('heartbeat', 'check', 'reads failing') },
          { weight: 2, arbitrary: fc.constantFrom(...COMMANDS) },
        ),
        { minLength: 4, maxLength: 25 },
      ),
      fc.boolean(),
      async (scheduler, commands, closesEarly) => {
        const scheduled = new ScheduledReplica(scheduler);
        const { replica, violations } = scheduled;
        const close = async () => {
          const closed = replica.onApplicationShutdown();
          scheduled.isClosed = true;
          await closed;
        };
        const bootstrapped = replica.onApplicationBootstrap();
        if (!closesEarly) await releaseAll(scheduler, bootstrapped);
        const work = commands.map(async (command) => {
          await scheduler.schedule(Promise.resolve(), command);
          await scheduled.perform(command);
        });
        if (closesEarly) work.push(scheduler.schedule(Promise.resolve(), 'close').then(close));
        // If nothing else is left, the clock is advanced, so that late queries end by their time limit.
        await releaseAll(scheduler, Promise.all(work), () => {
          if (scheduler.count() === 0) scheduled.perform('time limit');
          return true;
        });
        if (!closesEarly) await close();
        await releaseQueued(scheduler);
        // After the shutdown neither a late time limit nor the interval of the checks may start anything.
        scheduled.perform('time limit');
        await bootstrapped;
        scheduled.perform('check');
        await releaseQueued(scheduler);
        expect(jest.getTimerCount()).toBe(0);
        expect(violations).toEqual([]);
      },
    ),
    runs(250),
  ));
