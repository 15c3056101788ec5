import type pg from 'pg';
import type { QueryRunner } from 'typeorm';

/** A data source, entity manager or query runner: statements run in its transaction, if it has one. */
export interface SqlConnection {
  query(sql: string, parameters?: unknown[]): Promise<unknown>;
}

/**
 * Runs a statement and returns its rows: those of `select`, or those of `returning`.
 * `Row` describes the columns with the types of the driver `pg`: `timestamptz` is a Date, `bigint` a string.
 */
export async function queryRows<Row>(
  connection: SqlConnection,
  sql: string,
  parameters?: unknown[],
): Promise<Row[]> {
  const result = await connection.query(sql, parameters);
  // For `update` and `delete` TypeORM returns a pair of the rows and their number, for other statements the rows.
  return (isPair(result) ? result[0] : result) as Row[];
}

/** Runs a statement and returns its first row; undefined without rows. */
export async function queryRow<Row>(
  connection: SqlConnection,
  sql: string,
  parameters?: unknown[],
): Promise<Row | undefined> {
  return (await queryRows<Row>(connection, sql, parameters))[0];
}

/** Runs a statement that always returns a row, and returns its first row. @throws Error if the statement returns no row */
export async function queryOne<Row>(
  connection: SqlConnection,
  sql: string,
  parameters?: unknown[],
): Promise<Row> {
  const row = await queryRow<Row>(connection, sql, parameters);
  if (!row) throw new Error(`the statement has no row: ${sql}`);
  return row;
}

/** Runs a statement with a column `id` and returns the ids. */
export async function queryIds(
  connection: SqlConnection,
  sql: string,
  parameters?: unknown[],
): Promise<string[]> {
  const rows = await queryRows<{ id: string }>(connection, sql, parameters);
  return rows.map(({ id }) => id);
}

/** Runs a statement of which the caller needs no result. */
export async function execute(connection: SqlConnection, sql: string, parameters?: unknown[]): Promise<void> {
  await connection.query(sql, parameters);
}

/**
 * SQL for a parameter that is an array, such as `$1`, in a prepared statement. With a plain parameter PostgreSQL plans each
 * execution again, because a plan for the known number of elements seems cheaper to it than its generic plan. The planning takes
 * longer than the execution. In a subquery it does not know the number of elements, and keeps the generic plan.
 */
export const elementsOf = (parameter: string) => `array(select unnest(${parameter}))`;

/** SQL for the right side of `column = any(…)` with an array parameter, see `elementsOf`. */
export const anyOf = (parameter: string) => `any(${elementsOf(parameter)})`;

/** Returns the values of rows by column, in the order of the names, for an `unnest` of one array for each column. */
export const valuesByColumn = <Row, Name extends keyof Row>(
  rows: readonly Row[],
  names: readonly Name[],
): Row[Name][][] => names.map((name) => rows.map((row) => row[name]));

/** A statement that each connection of a pool prepares once, under its name. */
interface PreparedStatement {
  readonly name: string;
  readonly text: string;
  readonly values?: unknown[];
}

/** Runs a statement on a pool or a client of it, without TypeORM's query runner, and returns its rows. */
export async function queryPrepared<Row>(
  connection: Pick<pg.ClientBase, 'query'>,
  statement: PreparedStatement,
): Promise<Row[]> {
  const { rows } = await connection.query(statement);
  return rows as Row[];
}

/** Runs an `insert`. @returns the number of rows that it added */
export async function insertedRows(runner: QueryRunner, sql: string, parameters: unknown[]): Promise<number> {
  // Only with `true` TypeORM returns the number of rows.
  const { affected } = await runner.query(sql, parameters, true);
  return affected!;
}

/** Runs an `update` or `delete`. @returns the number of rows that it changed */
export async function affectedRows(
  connection: SqlConnection,
  sql: string,
  parameters?: unknown[],
): Promise<number> {
  const result = await connection.query(sql, parameters);
  if (!isPair(result)) throw new TypeError(`neither update nor delete: ${sql}`);
  return result[1];
}

/** Whether the result of TypeORM is a pair of the rows and their number. */
const isPair = (result: unknown): result is [unknown[], number] =>
  Array.isArray(result) && Array.isArray(result[0]);
