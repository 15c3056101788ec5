import { plural, formatUtcDay } from '../../shared/dates/dates.js';
import { t } from '../../shared/texts/text.js';
import { messages } from '../messages.js';
import { CountTable } from './count-table.js';
import { countsOf, keyOf, percentagesOf, totalOf, type Count, type Dimension } from './counts.js';
import type { FleetWeek } from '../../../src/http/responses/api-types.js';
import { Section } from './section.js';
import { formatUsed } from './shares.js';
import { ValueLabel } from './value-label.js';

/** The number of bars that are shown; the table has all values. */
const MAX_BARS = 8;

interface Props {
  readonly dimension: Exclude<Dimension, 'app_version'>;
  /** Newest first. */
  readonly weeks: readonly FleetWeek[];
}

/** A bar chart of the heartbeats of the newest week by value. */
export function Distribution({ dimension, weeks }: Props) {
  const { fleet: texts } = messages;
  const title = texts.sections[dimension];
  const newest = weeks[0]!;
  const counts = countsOf(newest, dimension);
  const total = totalOf(counts);
  const week = t(texts.newest, {
    day: formatUtcDay(newest.week_end),
    total: plural(total, texts.heartbeats),
  });
  return (
    <Section
      title={title}
      note={[texts.notes[dimension], `${week}.`].filter(Boolean).join(' ')}
      table={() => <CountTable name={title} dimension={dimension} weeks={weeks} />}
    >
      {counts.length === 0 ? <p>{texts.tooFew}</p> : <Bars counts={counts} total={total} />}
    </Section>
  );
}

function Bars({ counts, total }: { counts: readonly Count[]; total: number }) {
  const shown = counts.length > MAX_BARS ? withRest(counts) : counts;
  const percentages = percentagesOf(shown);
  return (
    <ul class="bars">
      {shown.map(({ label, name, isOther, heartbeats }, index) => (
        <li key={keyOf({ label, isOther })}>
          <span class={isOther ? 'quiet' : ''}>
            <ValueLabel label={label} name={name} />
          </span>
          <span class="share">{formatUsed(percentages[index]!)}</span>
          <span class="track" aria-hidden="true">
            <span
              class={isOther ? 'bar rest' : 'bar'}
              style={{ inlineSize: `${(100 * heartbeats) / total}%` }}
            />
          </span>
        </li>
      ))}
    </ul>
  );
}

/** The largest counts, and the sum of the rest as one. */
function withRest(counts: readonly Count[]): Count[] {
  const rest = counts.slice(MAX_BARS - 1);
  return [
    ...counts.slice(0, MAX_BARS - 1),
    { label: messages.fleet.rest, isOther: true, heartbeats: totalOf(rest) },
  ];
}
