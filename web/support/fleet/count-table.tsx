import { formatNumber } from '../../shared/dates/dates.js';
import { messages } from '../messages.js';
import { countsOf, keyOf, type Dimension } from './counts.js';
import type { FleetWeek } from '../../../src/http/responses/api-types.js';
import { WeekTable, type WeekRow } from './week-table.js';

interface Props {
  readonly name: string;
  readonly dimension: Dimension;
  readonly weeks: readonly FleetWeek[];
  /** A row before those of the values. */
  readonly firstRow?: WeekRow;
}

/** A table of the heartbeats with each value, by week. */
export function CountTable({ name, dimension, weeks, firstRow }: Props) {
  const byWeek = weeks.map(
    (week) => new Map(countsOf(week, dimension).map((count) => [keyOf(count), count])),
  );
  const all = new Map(byWeek.flatMap((counts) => [...counts]));
  const rows = [...all].map(([key, { label, name: valueName }]) => ({
    key,
    label,
    name: valueName,
    cells: byWeek.map((counts) => {
      const count = counts.get(key);
      return count ? formatNumber(count.heartbeats) : '';
    }),
  }));
  return (
    <WeekTable
      name={name}
      head={messages.fleet.value}
      weeks={weeks.map(({ week_end }) => week_end)}
      rows={firstRow ? [firstRow, ...rows] : rows}
    />
  );
}
