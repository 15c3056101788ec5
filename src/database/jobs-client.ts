import { DeadlineClient } from './deadline-client.js';

/** Time limits of the connections for jobs and events, in milliseconds: members of an object, so that tests can change them. */
export const JOBS_TIMEOUTS_MS = {
  /** The duration of a statement; then the database cancels it. */
  statement: 10_000,
  /**
   * The wait for any byte from the database during a statement; then the connection is destroyed. The statement `listen` ends at
   * once, so the wait for notifications after it has no limit.
   */
  silence: 11_000,
};

/** A connection for jobs or events, with the time limits of `JOBS_TIMEOUTS_MS`. */
export class JobsClient extends DeadlineClient {
  protected override get silenceMs(): number {
    return JOBS_TIMEOUTS_MS.silence;
  }
}
