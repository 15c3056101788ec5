/**
 * Time limits of a request, in milliseconds. Together they keep each response of the client API (`/v1/`) within 2 seconds,
 * whatever the database does. Other routes have no limit for the whole response. The limits are members of an object, so that
 * tests can change them.
 */
export const REQUEST_TIMEOUTS_MS = {
  /** The wait for a free connection of the pool, or for a new one. */
  connection: 1_000,
  /** The same wait of a migration, of the retention, of an erasure, of a command or of a refund that takes long. */
  maintenanceConnection: 5_000,
  /** The wait for the hosts of a database URL with several hosts to say whether they accept writes. */
  hostSearch: 700,
  /**
   * The wait for the other hosts after one that was just promoted has answered. There is a wait, because a second one may have been
   * promoted too. It is short, because a former primary that hangs does not answer at all.
   */
  otherHosts: 300,
  /** The duration of a statement; then the database cancels it. */
  statement: 800,
  /** The wait for any byte from the database during a query; then the connection is destroyed. */
  silence: 900,
  /** The wait of the database for the next statement of a transaction; then it ends the connection. No response waits for this. */
  idleInTransaction: 5_000,
  /** The time of a complete request of the client API, with its wait for a slot; then the response is `unavailable`. */
  answer: 1_900,
  /** The time of a heartbeat, counted as for `answer`, after which the response no longer waits for its telemetry to be stored. */
  telemetry: 1_600,
  /** The wait of a readiness probe for the database. Orchestrators often remove an instance that needs over a second. */
  probe: 700,
  /** The wait for TOMBSTONE_FILE, which a readiness probe reads between its queries. A shared folder may not answer. */
  tombstones: 400,
  /** The wait for the response of a replica; then the primary is used. */
  replica: 100,
};
