import pg from 'pg';
import { DataSource } from 'typeorm';
import type { LocalDeployment } from '../deployment.js';
import type { Observer } from '../recorder.js';
import { Gate } from './gate.js';

/** A statement on its way to the database, of any instance. */
export interface Statement {
  /** The text of the statement, in which each white space is one space. */
  readonly text: string;
  readonly values: readonly unknown[];
  /** The connection: statements of one transaction share it. */
  readonly connection: object;
  /** Runs the statement, or another one instead, on the same connection. */
  run(text?: string, values?: readonly unknown[]): Promise<pg.QueryResult>;
}
type Handler = (statement: Statement) => Promise<pg.QueryResult>;

/** What a planted bug did in the database, counted where no statement passes by. */
const USED = 'planted_bug_used';

/**
 * Plants a bug in running instances: at the database driver, where each statement is known by its words, or in the database.
 * `remove` removes all bugs. The classes of the driver are not changed.
 */
export class Planting {
  readonly gate = new Gate();
  readonly #handlers: { readonly pattern: RegExp; readonly handle: Handler; used: number }[] = [];
  readonly #undo: (() => Promise<unknown>)[] = [];
  #hasTrigger = false;

  constructor(readonly deployment: LocalDeployment) {
    for (const { app } of deployment.services) this.#listen(app.get(DataSource));
  }

  get observer(): Observer {
    return this.gate;
  }

  /** Handles each statement that the pattern matches. */
  on(pattern: RegExp, handle: Handler): void {
    this.#handlers.push({ pattern, handle, used: 0 });
  }

  /** Replaces a part of each statement that the pattern matches. */
  replace(pattern: RegExp, part: RegExp, by: string): void {
    this.on(pattern, (statement) => statement.run(replaced(statement.text, part, by)));
  }

  /** Runs a function of the database (its PL/pgSQL body) before each row that is written to a table. */
  async trigger(table: string, event: 'insert' | 'update', body: string): Promise<void> {
    const { deployment } = this;
    this.#hasTrigger = true;
    this.#undo.push(() => deployment.sql(`drop trigger if exists planted_bug on ${table}`, []));
    await deployment.sql(`drop sequence if exists ${USED}; create sequence ${USED}`, []);
    await deployment.sql(
      `create or replace function planted_bug() returns trigger language plpgsql as
         $$ begin ${body.replace('USED', `perform nextval('${USED}');`)} return new; end $$`,
      [],
    );
    await deployment.sql(
      `create trigger planted_bug before ${event} on ${table} for each row execute function planted_bug()`,
      [],
    );
  }

  /** A new connection that sees the database as it is now, like a replica whose replay is paused. */
  async snapshot(): Promise<pg.Client> {
    const client = new pg.Client(this.deployment.services[0]!.databaseUrl);
    await client.connect();
    this.#undo.push(() => client.end());
    await client.query('begin isolation level repeatable read; select 1');
    return client;
  }

  /** @throws if a part of the bug was not planted, because no statement matched after a change of the code */
  async confirm(): Promise<void> {
    const missed = this.#handlers
      .filter(({ used }) => used === 0)
      .map(({ pattern }) => `no statement matched ${pattern}`);
    if (this.#hasTrigger) {
      const sql = `select is_called from ${USED}`;
      const [row] = (await this.deployment.sql(sql, [])) as [{ is_called: boolean }];
      if (!row.is_called) missed.push('no row was written that the trigger changes');
    }
    if (missed.length > 0) throw new Error(`this bug was not planted: ${missed.join('; ')}`);
  }

  async remove(): Promise<void> {
    for (const stop of this.#undo.toReversed()) await stop();
  }

  #listen(dataSource: DataSource): void {
    const { master: pool } = dataSource.driver as unknown as { master: pg.Pool };
    const wrapped = new Map<pg.PoolClient, pg.PoolClient['query']>();
    const wrap = (client: pg.PoolClient) => {
      if (wrapped.has(client)) return;
      wrapped.set(client, client.query);
      this.#wrap(client);
    };
    pool.on('acquire', wrap);
    this.#undo.push(async () => {
      pool.off('acquire', wrap);
      // Without its own property, the object has the method of its class again.
      for (const client of wrapped.keys()) Reflect.deleteProperty(client, 'query');
    });
  }

  #wrap(client: pg.PoolClient): void {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    const intercepted = (...args: unknown[]): unknown => {
      const { text, values, callback } = asked(args);
      const handler = this.#handlers.find(({ pattern }) => pattern.test(text));
      if (!handler) return query(...args);
      handler.used += 1;
      // The name of the statement is left out, because the driver expects the same text for a name each time.
      const run: Statement['run'] = async (other = text, given = values) =>
        (await query({ text: other, values: [...given] })) as pg.QueryResult;
      const result = handler.handle({ text, values, connection: client, run });
      if (!callback) return result;
      result.then((rows) => callback(null, rows), callback);
      return undefined;
    };
    client.query = intercepted as pg.PoolClient['query'];
  }
}

/** Replaces a part of a text. @throws if the text does not contain it */
export function replaced(text: string, part: RegExp, by: string): string {
  if (!part.test(text)) throw new Error(`this bug was not planted: ${part} is not in ${text}`);
  return text.replace(part, by);
}

/** Reads the arguments of the driver's `query`. */
function asked(args: readonly unknown[]) {
  const [first, second] = args;
  const { text, values } = (typeof first === 'string' ? { text: first } : first) as {
    text?: string;
    values?: unknown[];
  };
  const last = args.at(-1);
  return {
    text: (text ?? '').replaceAll(/\s+/g, ' ').trim(),
    values: values ?? (Array.isArray(second) ? (second as unknown[]) : []),
    callback:
      typeof last === 'function' ? (last as (error: unknown, result?: pg.QueryResult) => void) : undefined,
  };
}

/** The result of a statement with other rows. */
export const resultOf = (rows: readonly object[]): pg.QueryResult =>
  ({
    rows: [...rows],
    rowCount: rows.length,
    command: 'SELECT',
    fields: [],
    oid: 0,
  }) as unknown as pg.QueryResult;
