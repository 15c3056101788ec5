import type { AppLogger } from '../core/logger.js';
import { connectionErrorCode, connectionRefusal, databaseAddress } from './access-errors.js';
import { isTemporaryDatabaseError } from './temporary-errors.js';

/** An outage that lasts is logged again after this time. */
const REMINDER_INTERVAL_MS = 600_000;

/** Logs an outage of the database when it begins, every ten minutes while it lasts, and when it has ended. */
export class OutageLog {
  /** The time of the last line about the outage; undefined without an outage. In milliseconds of the monotonic clock. */
  #loggedAt: number | undefined;

  constructor(
    private readonly log: Pick<AppLogger, 'warning' | 'info'>,
    private readonly databaseUrl: string,
    private readonly monotonic: () => number = () => performance.now(),
  ) {}

  /** Logs an error of a connection, if a line is due. @returns false if the error is no outage: then the caller must log it */
  reports(error: unknown): boolean {
    const refusal = connectionRefusal(error, this.databaseUrl);
    if (!refusal && !isTemporaryDatabaseError(error)) return false;
    this.#logFailure(refusal?.message ?? connectionErrorCode(error));
    return true;
  }

  #logFailure(reason: string): void {
    const now = this.monotonic();
    if (this.#loggedAt !== undefined && now - this.#loggedAt < REMINDER_INTERVAL_MS) return;
    this.#loggedAt = now;
    this.log.warning('waiting for the database', { host: databaseAddress(this.databaseUrl), reason });
  }

  /** Reports that a connection succeeded. */
  succeeded(): void {
    if (this.#loggedAt === undefined) return;
    this.#loggedAt = undefined;
    this.log.info('database available', { host: databaseAddress(this.databaseUrl) });
  }
}
