/**
 * Time limits of one request, in milliseconds: together they keep each answer to a client within 2 seconds, whatever the
 * database does. One object, so that a test can give a service more time, or less.
 */
export const REQUEST_TIMEOUTS_MS = {
  /** For a free connection to the database. */
  connection: 1_000,
  /** For a statement, kept by the database. */
  statement: 800,
  /** For a database that sends nothing at all; then the connection is cut. */
  silence: 900,
  /** For the next statement of a transaction, kept by the database; then it ends the transaction with its connection. */
  idleInTransaction: 5_000,
  /** For the answer to a call of a client, with what it takes to send it. */
  answer: 1_900,
  /** For a heartbeat with its telemetry; then the answer goes out without waiting for the telemetry. */
  telemetry: 1_600,
  /** For a replica; then the primary is asked. */
  replica: 100,
};
