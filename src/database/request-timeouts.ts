/**
 * Time limits of a request, in milliseconds. Together they keep each response of the client API (`/v1/`) within 2 seconds,
 * whatever the database does. Other routes have no limit for the whole response. The limits are members of an object, so that
 * tests can change them.
 */
export const REQUEST_TIMEOUTS_MS = {
  /** For a free connection to the database. */
  connection: 1_000,
  /** For a statement, enforced by the database. */
  statement: 800,
  /** For a database that sends nothing; then the connection is destroyed. */
  silence: 900,
  /** For the next statement of a transaction; then the database ends the connection. No response waits for this. */
  idleInTransaction: 5_000,
  /** For the preparation of a response of the client API; then the client receives `unavailable`. */
  answer: 1_900,
  /** For a heartbeat with telemetry; then the response is sent without waiting for the telemetry. */
  telemetry: 1_600,
  /** For the response of a replica; then the primary is used. */
  replica: 100,
};
