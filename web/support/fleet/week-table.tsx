import { shortUtcDay, utcDay } from '../../shared/dates.js';
import { UntrustedText, t } from '../../shared/text.js';
import { messages } from '../messages.js';

export interface WeekRow {
  readonly key: string;
  readonly label: string;
  /** One for each week, newest first; empty where that week has none. */
  readonly cells: readonly string[];
}

interface Props {
  readonly name: string;
  readonly head: string;
  /** Newest first. */
  readonly weeks: readonly string[];
  readonly rows: readonly WeekRow[];
}

/** Values by weeks. It scrolls sideways in itself, by keyboard too: both its sides are needed to read it. */
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
                <span aria-hidden="true">{shortUtcDay(week)}</span>
                <span class="unseen">{t(messages.fleet.weekOf, { day: utcDay(week) })}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, label, cells }) => (
            <tr key={key}>
              <th scope="row">
                <UntrustedText text={label} />
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
