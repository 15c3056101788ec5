import { DataSource } from 'typeorm';
import { DUE_DAYS } from '../retention/erasure.view.js';

/** The oldest day (`YYYY-MM-DD`) of what is to leave, null where there is none; and by which clock. */
export interface Ages {
  /** What the database's clock says. */
  readonly now: Date;
  readonly telemetry: string | null;
  readonly telemetry_inbox: string | null;
  readonly ended_activation: string | null;
  /** The day that the most urgent deletion request is due. */
  readonly erasure_due: string | null;
  /** The day on which the oldest one that waits should have been carried out. */
  readonly erasure_runs: string | null;
  /** The tables where the last retention run failed. */
  readonly failed: readonly string[];
}

const AGES = `
  select clock_timestamp() as now,
         (select min(received_on) from telemetry)::text as telemetry,
         (select min(received_on) from telemetry_waiting)::text as telemetry_inbox,
         (select min(ended_at)::date from activation where ended_at is not null)::text as ended_activation,
         (select min(received_on) + ${DUE_DAYS} from erasure_request
          where honoured_at is null and cancelled_at is null)::text as erasure_due,
         (select min(runs_at)::date from erasure_request
          where honoured_at is null and cancelled_at is null)::text as erasure_runs,
         coalesce((select failed from retention_run where finished_at is not null
                   order by started_at desc limit 1), '{}') as failed`;

/** Watches the age of the data, not the success of a job: whatever goes wrong, this is what it shows as. */
export async function readAges(dataSource: DataSource): Promise<Ages> {
  const [ages] = (await dataSource.query(AGES)) as [Ages];
  return ages;
}
