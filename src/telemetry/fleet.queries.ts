import { DataSource } from 'typeorm';
import { queryRows } from '../database/sql.js';
import { SMALL_CELL_THRESHOLD } from './suppress-small-cells.js';
import { DIMENSIONS } from './telemetry.fields.js';

/**
 * The number of heartbeats with one value, with a pair of values (each under the name of its field), or with any of the values that
 * are not shown (`other`). A null value means that the client did not send the field, or sent an invalid value.
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

// Reads the stored weekly counts. The roll-up counts a week and suppresses small cells once (docs/privacy.md#telemetry).
const READ_WEEKS = `
  with week as (select week_end from fleet_week order by week_end desc limit $1)
  select week_end::text,
    (select coalesce(json_agg(c order by is_other, heartbeats desc, value, value_2), '[]') from
       (select dimension, value, value_2, is_other, heartbeats from fleet_cell where week_end = week.week_end) c) as cells,
    (select coalesce(json_agg(l order by soc_name), '[]') from
       (select soc_name, p50, p90, p95 from fleet_latency where week_end = week.week_end) l) as latency
  from week order by week_end desc`;

/** Reads the counts of the last `weeks` counted weeks. They count heartbeats, never machines, and no telemetry row is read. */
export async function readFleet(dataSource: DataSource, weeks: number) {
  const rows = await queryRows<WeekRow>(dataSource, READ_WEEKS, [weeks]);
  return {
    threshold: SMALL_CELL_THRESHOLD,
    weeks: rows.map(({ week_end, cells, latency }) => ({ week_end, ...groupByDimension(cells), latency })),
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
