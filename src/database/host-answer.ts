import pg from 'pg';
import { REQUEST_TIMEOUTS_MS } from './request-timeouts.js';
import { queryPrepared } from './sql.js';
import { TimeoutError, withTimeout } from './timeout.js';

/** What a server says about itself. */
export interface HostAnswer {
  /** The system identifier, which a primary shares with its standbys only. */
  readonly cluster: string;
  /** The timeline of the write-ahead log. Each promotion begins a new one, with a larger number. */
  readonly timeline: number;
  readonly is_standby: boolean;
  readonly is_read_only: boolean;
  /** Identifies the server process, because two names may lead to one server. */
  readonly started_at: string;
}

// A new primary writes its timeline into the control file only with its next checkpoint, so the timeline is read from the name of
// a WAL segment. A standby cannot name a segment, so its control file is read, which has a new timeline only some minutes after the
// standby began to follow this timeline.
export const TIMELINE_OF_STANDBY = `(
  select greatest(c.timeline_id, r.min_recovery_end_timeline) from pg_control_checkpoint() c, pg_control_recovery() r)`;
/** Reads the columns of `HostAnswer`. Every role may execute these functions. */
const READ_HOST = `
  select (select system_identifier::text from pg_control_system()) as cluster,
    case when pg_is_in_recovery() then ${TIMELINE_OF_STANDBY}
      else ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int end as timeline,
    pg_is_in_recovery() as is_standby,
    current_setting('default_transaction_read_only')::boolean as is_read_only,
    pg_postmaster_start_time()::text as started_at`;

/** Asks the server of a connection. */
export async function readHost(client: pg.ClientBase): Promise<HostAnswer> {
  const [answer] = await queryPrepared<HostAnswer>(client, { name: 'read host', text: READ_HOST });
  return answer!;
}

/** Asks a server over a new connection. @throws the error of the connection, at the latest after `hostSearch` milliseconds */
export async function askHost(url: string): Promise<HostAnswer> {
  const client = new pg.Client({ connectionString: url, application_name: 'mooring (host search)' });
  // An error event without a listener would end the process. The pending call rejects with the same error.
  client.on('error', () => undefined);
  const answer = client.connect().then(readHost);
  try {
    const result = await withTimeout(answer, REQUEST_TIMEOUTS_MS.hostSearch);
    void client.end().catch(() => undefined);
    return result;
  } catch (error) {
    client.connection.stream.destroy();
    throw error instanceof TimeoutError ? new Error('Connection terminated: no answer in time') : error;
  }
}
