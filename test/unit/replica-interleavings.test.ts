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

const LOOK_MS = 2_000;
const COMMANDS = [
  'heartbeat',
  'look',
  'time limit',
  'well',
  'behind',
  'failing',
  'reads failing',
  'primary unavailable',
] as const;
type Command = (typeof COMMANDS)[number];
interface Query {
  readonly values: [string[], string];
}

/** A replica whose server, whose primary and whose timers wait for a scheduler. */
class ScheduledReplica {
  readonly replica: Replica;
  readonly broken: string[] = [];
  #mode: Command = 'well';
  #isPrimaryUnavailable = false;
  #looks = 0;
  #sent = 0;
  /** The number of the last query sent when the replica was found unwell, and that of the last good look. */
  #failedAt = 0;
  #goodLook = 0;
  #now = Date.parse('2026-11-20T13:00:00Z');
  isClosed = false;

  constructor(private readonly scheduler: fc.Scheduler) {
    const clock = Object.assign(new Clock(), { now: () => new Date(this.#now) });
    const log = { info: () => this.#turnedWell(), failed: () => void (this.#failedAt = this.#sent) };
    const url = 'postgres://127.0.0.1:1/unused';
    const config = new Config({ DATABASE_URL: url, DATABASE_READ_URL: url });
    const dataSource = { driver: { master: { query: () => this.#position() } } };
    this.replica = new Replica(
      dataSource as unknown as DataSource,
      config,
      clock,
      log as unknown as AppLogger,
    );
    Object.assign(this.replica.pool!, { query: (query: Query) => this.#query(query) });
  }

  command(command: Command): Promise<void> | void {
    if (command === 'heartbeat') return this.#heartbeat();
    if (command === 'look') this.#pass(LOOK_MS);
    else if (command === 'time limit') this.#pass(REQUEST_TIMEOUTS_MS.replica);
    else if (command === 'primary unavailable') this.#isPrimaryUnavailable = !this.#isPrimaryUnavailable;
    else this.#mode = command;
  }

  #pass(milliseconds: number): void {
    this.#now += milliseconds;
    jest.advanceTimersByTime(milliseconds);
  }

  /** An answer is the row that was asked for, or none; a heartbeat never fails because of a replica. */
  async #heartbeat(): Promise<void> {
    const id = `activation ${this.#sent}`;
    const found = await this.replica.find(id);
    if (found && found.activation_id !== id) this.broken.push('the row of another heartbeat');
  }

  async #position(): Promise<unknown> {
    if (this.isClosed) this.broken.push('a look after the end');
    if ((this.#looks += 1) > 1) this.broken.push('two looks at once');
    const isUnavailable = this.#isPrimaryUnavailable;
    await this.scheduler.schedule(Promise.resolve(), 'position');
    this.#looks -= 1;
    if (isUnavailable) throw new Error('the primary is unavailable');
    return { rows: [{ position: '0/1' }] };
  }

  async #query({ values: [ids] }: Query): Promise<unknown> {
    const sent = (this.#sent += 1);
    const isLook = ids.length === 0;
    if (this.isClosed) throw new Error('Cannot use a pool after calling end on the pool');
    if (!isLook && this.replica.isDegraded) this.broken.push('asked while it was unwell');
    const mode = this.#mode;
    const deadline = this.#now + REQUEST_TIMEOUTS_MS.replica;
    await this.scheduler.schedule(Promise.resolve(), `${isLook ? 'look' : 'read'} ${mode}`);
    if (mode === 'failing' || (mode === 'reads failing' && !isLook))
      throw new Error('the replica is unavailable');
    const keeps_up = mode !== 'behind';
    if (isLook && keeps_up && this.#now < deadline) this.#goodLook = sent;
    const rows = ids.map((activation_id) => ({ activation_id, keeps_up }));
    return { rows: rows.length > 0 ? rows : [{ activation_id: null, keeps_up }] };
  }

  #turnedWell(): void {
    if (this.#goodLook <= this.#failedAt) this.broken.push('used again before a later look found it well');
  }
}

test('no order of answers, failures and time limits has an unwell replica used, or two looks at once', () =>
  fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(
        fc.oneof(
          { weight: 3, arbitrary: fc.constantFrom<Command>('heartbeat', 'look', 'reads failing') },
          { weight: 2, arbitrary: fc.constantFrom(...COMMANDS) },
        ),
        { minLength: 4, maxLength: 25 },
      ),
      fc.boolean(),
      async (scheduler, commands, closesEarly) => {
        const scheduled = new ScheduledReplica(scheduler);
        const { replica, broken } = scheduled;
        const close = async () => {
          const closed = replica.onApplicationShutdown();
          scheduled.isClosed = true;
          await closed;
        };
        const bootstrapped = replica.onApplicationBootstrap();
        if (!closesEarly) await releaseAll(scheduler, bootstrapped);
        const work = commands.map(async (command) => {
          await scheduler.schedule(Promise.resolve(), command);
          await scheduled.command(command);
        });
        if (closesEarly) work.push(scheduler.schedule(Promise.resolve(), 'close').then(close));
        // What is late ends by its time limit, also where no command lets time pass any more.
        await releaseAll(scheduler, Promise.all(work), () => {
          if (scheduler.count() === 0) scheduled.command('time limit');
          return true;
        });
        if (!closesEarly) await close();
        await releaseQueued(scheduler);
        scheduled.command('time limit');
        await bootstrapped;
        scheduled.command('look');
        await releaseQueued(scheduler);
        expect(jest.getTimerCount()).toBe(0);
        expect(broken).toEqual([]);
      },
    ),
    runs(250),
  ));
