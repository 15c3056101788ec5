import { DataSource } from 'typeorm';
import { queryRows } from '../database/sql.js';
import { SMALL_CELL_THRESHOLD } from './suppress-small-cells.js';
import { DIMENSIONS } from './telemetry.fields.js';

/**
 * The number of heartbeats with one value, with a pair of values (each under the name of its field), or with all other values.
 * A null value means that the client did not send the field, or sent an invalid value.
 */
type CellView = { readonly heartbeats: number } & Readonly<Record<string, string | number | boolean | null>>;

interface CellRow {
  readonly dimension: string;
  readonly value: string | null;
  readonly value_2: string | null;
  readonly is_other: boolean;
  readonly heartbeats: number;
}

interface WeekRow {
  readonly week_end: string;
  readonly cells: CellRow[];
  /** The latency of the application's detector (`recent_inference_ms`) by chip, in milliseconds. */
  readonly latency: { soc_name: string; p50: number; p90: number; p95: number }[];
}

interface CrashRow {
  readonly crash_sig: string;
  readonly crash_label: string | null;
  readonly crash_frame: string | null;
  /** The versions that crashed, as one list for each week with such a crash. */
  readonly versions: string[][];
  readonly weeks: { week_end: string; crashes: number }[];
}

// Reads the stored weekly counts. The roll-up counts a week and suppresses small cells once (docs/privacy.md#telemetry).
const READ_WEEKS = `
  with week as (select week_end from fleet_week order by week_end desc limit $1)
  select week_end::text,
    (select coalesce(json_agg(c order by is_other, heartbeats desc, value, value_2), '[]') from
       (select dimension, value, value_2, is_other, heartbeats from fleet_cell where week_end = week.week_end) c) as cells,
    (select coalesce(json_agg(l order by soc_name), '[]') from
       (select soc_name, p50, p90, p95 from fleet_latency where week_end = week.week_end) l) as latency
  from week order by week_end desc`;

/** The number of crash groups that staff see, the largest ones. The limit exists because one client can create thousands. */
const MAX_SHOWN_CRASH_GROUPS = 200;

// Selects the largest groups before it aggregates them. After the first step, each step reads only the previous one, without
// joins, so that outdated planner statistics cannot lead to a slow plan.
const READ_CRASH_GROUPS = `
  with counted as (
    select *, sum(crashes) over (partition by crash_sig) as total from crash_week
    where week_end >= (select min(week_end) from
      (select week_end from fleet_week order by week_end desc limit $1) requested)),
  ranked as (select *, dense_rank() over (order by total desc, crash_sig) as size_rank from counted),
  weekly as (
    select crash_sig, total, week_end, sum(crashes)::integer as crashes,
      (array_agg(crash_label order by crashes desc) filter (where crash_label is not null))[1] as crash_label,
      (array_agg(crash_frame order by crashes desc) filter (where crash_frame is not null))[1] as crash_frame,
      json_agg(distinct app_version) filter (where app_version is not null) as versions
    from ranked where size_rank <= ${MAX_SHOWN_CRASH_GROUPS} group by 1, 2, 3)
  select crash_sig,
    (array_agg(crash_label order by week_end desc) filter (where crash_label is not null))[1] as crash_label,
    (array_agg(crash_frame order by week_end desc) filter (where crash_frame is not null))[1] as crash_frame,
    coalesce(json_agg(versions) filter (where versions is not null), '[]') as versions,
    json_agg(json_build_object('week_end', week_end, 'crashes', crashes) order by week_end desc) as weeks
  from weekly group by crash_sig, total order by total desc, crash_sig`;

/** Reads the telemetry of the last `weeks` counted weeks: numbers of heartbeats, never of machines, and no single rows. */
export async function readFleet(dataSource: DataSource, weeks: number) {
  const rows = await queryRows<WeekRow>(dataSource, READ_WEEKS, [weeks]);
  const crashes = await queryRows<CrashRow>(dataSource, READ_CRASH_GROUPS, [weeks]);
  return {
    threshold: SMALL_CELL_THRESHOLD,
    weeks: rows.map(({ week_end, cells, latency }) => ({ week_end, ...groupByDimension(cells), latency })),
    crash_groups: crashes.map(toCrashGroup),
  };
}

function groupByDimension(cells: CellRow[]): Record<string, CellView[]> {
  const byDimension = Map.groupBy(cells, ({ dimension }) => dimension);
  return Object.fromEntries(
    Object.keys(DIMENSIONS).map((dimension) => [
      dimension,
      (byDimension.get(dimension) ?? []).map(toCellView),
    ]),
  );
}

function toCellView({ dimension, value, value_2, is_other, heartbeats }: CellRow): CellView {
  if (is_other) return { other: true, heartbeats };
  const [field, field_2] = DIMENSIONS[dimension]!;
  return field_2 ? { [field!]: value, [field_2]: value_2, heartbeats } : { value, heartbeats };
}

function toCrashGroup({ versions, ...group }: CrashRow) {
  const sorted = versions.flat().toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  return { ...group, first_version: sorted[0] ?? null, last_version: sorted.at(-1) ?? null };
}
