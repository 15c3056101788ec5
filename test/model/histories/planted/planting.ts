import pg from 'pg';
import { DataSource } from 'typeorm';
import type { LocalDeployment } from '../deployment.js';
import type { Observer } from '../recorder.js';
import { Gate } from './gate.js';
import { connect } from '../../../support/harness.js';

/** A statement of any instance that is intercepted before it is sent to the database. */
export interface Statement {
  /** The SQL text, in which each run of white space is replaced by one space. */
  readonly text: string;
  readonly values: readonly unknown[];
  /** The connection, which all statements of a transaction share. */
  readonly connection: object;
  /** Runs the statement, or another one instead, on the same connection. */
  run(text?: string, values?: readonly unknown[]): Promise<pg.QueryResult>;
}
type Handler = (statement: Statement) => Promise<pg.QueryResult>;

/** A sequence in the database that the trigger of a bug advances, so that `confirm` knows whether the bug had an effect. */
const USE_COUNTER = 'planted_bug_used';

/**
 * Plants a bug in running instances: it finds statements by their text and replaces them at the database driver, or it adds a
 * trigger to the database. `remove` undoes both. The classes of the driver are not changed.
 */
export class Planting {
  readonly gate = new Gate();
  readonly #handlers: { readonly pattern: RegExp; readonly handle: Handler; used: number }[] = [];
  readonly #undo: (() => Promise<unknown>)[] = [];
  #hasTrigger = false;

  constructor(readonly deployment: LocalDeployment) {
    for (const { app } of deployment.services) this.#wrapConnections(app.get(DataSource));
  }

  get observer(): Observer {
    return this.gate;
  }

  /** Calls a function instead of each statement that the pattern matches. */
  intercept(pattern: RegExp, handle: Handler): void {
    this.#handlers.push({ pattern, handle, used: 0 });
  }

  /** Replaces a part of each statement that the pattern matches. */
  replace(pattern: RegExp, part: RegExp, replacement: string): void {
    this.intercept(pattern, (statement) => statement.run(replacePart(statement.text, part, replacement)));
  }

  /**
   * Adds a trigger that runs before each row of a table is written.
   * @param bodyOf returns its PL/pgSQL statements, with the statement `recordUse` where the bug has its effect
   */
  async trigger(
    table: string,
    event: 'insert' | 'update',
    bodyOf: (recordUse: string) => string,
  ): Promise<void> {
    const { deployment } = this;
    this.#hasTrigger = true;
    this.#undo.push(() => deployment.sql(`drop trigger if exists planted_bug on ${table}`, []));
    await deployment.sql(`drop sequence if exists ${USE_COUNTER}; create sequence ${USE_COUNTER}`, []);
    await deployment.sql(
      `create or replace function planted_bug() returns trigger language plpgsql as
         $$ begin ${bodyOf(`perform nextval('${USE_COUNTER}');`)} return new; end $$`,
      [],
    );
    await deployment.sql(
      `create trigger planted_bug before ${event} on ${table} for each row execute function planted_bug()`,
      [],
    );
  }

  /** Opens a connection that keeps seeing the database as it is now, like a replica whose replay is paused. */
  async openSnapshot(): Promise<pg.Client> {
    const client = await connect(this.deployment.services[0]!.databaseUrl);
    this.#undo.push(() => client.end());
    await client.query('begin isolation level repeatable read; select 1');
    return client;
  }

  /** @throws Error if a part of the bug had no effect, usually because a changed statement no longer matches its pattern */
  async confirm(): Promise<void> {
    const missed = this.#handlers
      .filter(({ used }) => used === 0)
      .map(({ pattern }) => `no statement matched ${pattern}`);
    if (this.#hasTrigger) {
      const sql = `select is_called from ${USE_COUNTER}`;
      const [row] = (await this.deployment.sql(sql, [])) as [{ is_called: boolean }];
      if (!row.is_called) missed.push('the trigger changed no row');
    }
    if (missed.length > 0) throw new Error(`this bug was not planted: ${missed.join('; ')}`);
  }

  async remove(): Promise<void> {
    for (const undo of this.#undo.toReversed()) await undo();
  }

  #wrapConnections(dataSource: DataSource): void {
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
      // Without its own property, the object uses the method of its class again.
      for (const client of wrapped.keys()) Reflect.deleteProperty(client, 'query');
    });
  }

  #wrap(client: pg.PoolClient): void {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    const intercepted = (...args: unknown[]): unknown => {
      const { text, values, callback } = parseQueryArguments(args);
      const handler = this.#handlers.find(({ pattern }) => pattern.test(text));
      if (!handler) return query(...args);
      handler.used += 1;
      // The name of a prepared statement is omitted, because the driver requires the same text each time for a name.
      const run: Statement['run'] = async (textToRun = text, valuesToUse = values) =>
        (await query({ text: textToRun, values: [...valuesToUse] })) as pg.QueryResult;
      const result = handler.handle({ text, values, connection: client, run });
      if (!callback) return result;
      result.then((rows) => callback(null, rows), callback);
      return undefined;
    };
    client.query = intercepted as pg.PoolClient['query'];
  }
}

/** Replaces a part of a text. @throws Error if the text does not contain it */
export function replacePart(text: string, part: RegExp, replacement: string): string {
  if (!part.test(text)) throw new Error(`this bug was not planted: ${part} is not in ${text}`);
  return text.replace(part, replacement);
}

/** Parses the arguments of the driver's `query`. */
function parseQueryArguments(args: readonly unknown[]) {
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

/** Makes the result of a statement from its rows. */
export const resultOf = (rows: readonly object[]): pg.QueryResult =>
  ({
    rows: [...rows],
    rowCount: rows.length,
    command: 'SELECT',
    fields: [],
    oid: 0,
  }) as unknown as pg.QueryResult;
