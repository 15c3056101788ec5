import { formatUtcDay } from '../../shared/dates/dates.js';
import { formatShortUtcDay } from '../parts/dates.js';
import { t } from '../../shared/texts/text.js';
import { messages } from '../messages.js';
import { ValueLabel } from './value-label.js';

export interface WeekRow {
  readonly key: string;
  readonly label: string;
  /** The name of the Mac model whose identifier is the label; undefined for every other label. */
  readonly name?: string | undefined;
  /** The value of each week, newest first; empty for a week without a value. */
  readonly cells: readonly string[];
}

interface Props {
  readonly name: string;
  readonly head: string;
  /** Newest first. */
  readonly weeks: readonly string[];
  readonly rows: readonly WeekRow[];
}

/** A table of values by week. It scrolls sideways, also by keyboard, instead of being stacked on a narrow screen. */
export function WeekTable({ name, head, weeks, rows }: Props) {
  return (
    <div class="scroll" role="region" aria-label={t(messages.fleet.table, { name })} tabIndex={0}>
      <table class="weeks">
        <caption>{name}</caption>
        <thead>
          <tr>
            <th scope="col">{head}</th>
            {weeks.map((week) => (
              <th key={week} scope="col" class="number">
                <span aria-hidden="true">{formatShortUtcDay(week)}</span>
                <span class="unseen">{t(messages.fleet.weekOf, { day: formatUtcDay(week) })}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, label, name: valueName, cells }) => (
            <tr key={key}>
              <th scope="row">
                <ValueLabel label={label} name={valueName} />
              </th>
              {cells.map((cell, index) => (
                <td key={weeks[index]} class="number">
                  {cell || '–'}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
