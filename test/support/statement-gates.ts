import { AsyncLocalStorage } from 'node:async_hooks';
import type fc from 'fast-check';
import pg from 'pg';
import type { Service } from './harness.js';
import { releaseAll } from './interleavings.js';
import { ORIGIN } from './http/cookie-client.js';

/** The statements that are held: those about these tables, and commits. Others run at once, because their order is irrelevant. */
const HELD_STATEMENTS =
  /\b(session|license|activation|one_time_code|staff|staff_link|passkey|passkey_challenge|erasure_request)\b|^commit/i;
const BEGIN = /^(start transaction|begin)/i;
const LOCK_TIMEOUT = /^set local lock_timeout/i;
/** Counts connections that wait for a lock. Unlike pg_stat_activity, this is exact as soon as another transaction has ended. */
const COUNT_BLOCKED = `
  select count(*)::integer as blocked from unnest($1::integer[]) pid where cardinality(pg_blocking_pids(pid)) > 0`;

type Query = (this: pg.Client, ...args: unknown[]) => unknown;
interface Operation {
  readonly name: string;
  isOver: boolean;
}

/** The response to a request without a socket. Over a socket, the SQL statements of a request could not be assigned to it. */
export interface GatedAnswer {
  readonly status: number;
  readonly text: string;
  /** The value that the response sets for the cookie of this name. */
  cookie(name: string): string | undefined;
}

/**
 * Runs operations on a service whose SQL statements wait for a scheduler. It releases a statement when every other operation
 * is held at a statement, waits for a lock in the database, or has ended.
 */
export class StatementGates {
  static readonly #operation = new AsyncLocalStorage<{ operation: Operation; gates: StatementGates }>();

  /** Statements that are not passed to the scheduler yet. They are sorted first, so that a seed gives one order. */
  #arrived: { readonly name: string; readonly release: () => void }[] = [];
  /** The number of operations that are held at a statement. */
  #held = 0;
  /** The number of operations that have not ended. */
  #live = 0;
  /** The process ids, at the database server, of the connections whose statement runs. */
  readonly #running = new Set<number>();
  /** The number of changes of the fields above. */
  #changes = 0;
  /** The value of `#changes` at which all running statements were found to wait for a lock. */
  #blockedAt = -1;
  #isCountingBlocked = false;

  constructor(
    private readonly service: Service,
    private readonly scheduler: fc.Scheduler,
  ) {}

  /** Makes every connection of the process hold the statements of operations. @returns a function that undoes this */
  static install(): () => void {
    const prototype = pg.Client.prototype as unknown as { query: Query };
    const { query } = prototype;
    prototype.query = function gated(this: pg.Client, ...args: unknown[]) {
      const store = StatementGates.#operation.getStore();
      if (!store || store.operation.isOver) return query.apply(this, args);
      const callback = args.at(-1);
      const isCallback = typeof callback === 'function';
      const result = store.gates.#run(this, query, isCallback ? args.slice(0, -1) : args, store.operation);
      if (!isCallback) return result;
      result.then(
        (rows) => callback(null, rows),
        (error: unknown) => callback(error),
      );
      return undefined;
    };
    return () => void (prototype.query = query);
  }

  /** Runs each function as an operation of that name, in the order of the scheduler. @returns the results */
  async all<T>(work: Readonly<Record<string, () => Promise<T>>>): Promise<T[]> {
    const operations = Object.entries(work).map(([name, each]) => this.#operate(name, each));
    // If an operation fails, the others still complete, so that none of them leaves a transaction open.
    const results = await releaseAll(this.scheduler, Promise.allSettled(operations), () => this.#isWaiting());
    return results.map((result) => {
      if (result.status === 'rejected') throw result.reason;
      return result.value;
    });
  }

  async call(
    method: 'GET' | 'POST' | 'DELETE',
    url: string,
    cookies: Readonly<Record<string, string>>,
    payload?: object,
  ): Promise<GatedAnswer> {
    const cookie = Object.entries(cookies).map(([name, value]) => `mooring_${name}=${value}`);
    const headers = { origin: ORIGIN, cookie: cookie.join('; ') };
    const answer = await this.service.app.inject({ method, url, headers, ...(payload && { payload }) });
    const given = answer.cookies as { name: string; value: string }[];
    return {
      status: answer.statusCode,
      text: answer.body,
      cookie: (name) => given.find((each) => each.name === `mooring_${name}`)?.value,
    };
  }

  async #operate<T>(name: string, work: () => Promise<T>): Promise<T> {
    const operation = { name, isOver: false };
    this.#live += 1;
    try {
      await this.#hold(`${name} starts`);
      return await StatementGates.#operation.run({ operation, gates: this }, work);
    } finally {
      operation.isOver = true;
      this.#live -= 1;
      this.#changes += 1;
    }
  }

  async #run(client: pg.Client, query: Query, args: unknown[], { name }: Operation): Promise<unknown> {
    const [first] = args;
    const sql = typeof first === 'string' ? first : ((first as { text?: string }).text ?? '');
    const text = sql.replaceAll(/\s+/g, ' ').trim();
    if (HELD_STATEMENTS.test(text)) await this.#hold(`${name}: ${text.slice(0, 80)}`);
    const { processID } = client as unknown as { processID: number };
    this.#running.add(processID);
    this.#changes += 1;
    try {
      // The time limits of locks and transactions are removed, so that the result does not depend on the speed of the computer.
      if (LOCK_TIMEOUT.test(text)) return await query.call(client, 'select 1');
      const result = await query.apply(client, args);
      if (BEGIN.test(text)) await query.call(client, 'set local idle_in_transaction_session_timeout = 0');
      return result;
    } finally {
      this.#running.delete(processID);
      this.#changes += 1;
    }
  }

  async #hold(name: string): Promise<void> {
    this.#held += 1;
    this.#changes += 1;
    await new Promise<void>((release) => this.#arrived.push({ name, release }));
    this.#held -= 1;
    this.#changes += 1;
  }

  /**
   * Whether each operation is held, has ended or waits for a lock. If so, the statements that have arrived are passed to the
   * scheduler. If operations remain and none is held, the result is false: the database must first resolve a deadlock.
   */
  #isWaiting(): boolean {
    if (this.#live > 0 && this.#held === 0) return false;
    if (this.#held + this.#running.size !== this.#live) return false;
    if (this.#running.size > 0 && this.#blockedAt !== this.#changes) {
      void this.#countBlocked();
      return false;
    }
    for (const { name, release } of this.#arrived.toSorted((a, b) => (a.name < b.name ? -1 : 1)))
      void this.scheduler.schedule(Promise.resolve(), name).then(release);
    this.#arrived = [];
    return true;
  }

  async #countBlocked(): Promise<void> {
    if (this.#isCountingBlocked) return;
    this.#isCountingBlocked = true;
    const at = this.#changes;
    const running = [...this.#running];
    const [row] = await this.service.sql<{ blocked: number }>(COUNT_BLOCKED, [running]);
    if (at === this.#changes && row!.blocked === running.length) this.#blockedAt = at;
    this.#isCountingBlocked = false;
  }
}
