import { useState } from 'preact/hooks';
import { percent, utcDay } from '../../shared/dates.js';
import { t, UntrustedText } from '../../shared/text.js';
import { messages } from '../messages.js';
import { CountTable } from './count-table.js';
import { countsOf, totalOf } from './counts.js';
import type { FleetWeek } from '../../shared/api-types.js';
import { DASHES, LineChart, type Line } from './line-chart.js';
import { Section } from './section.js';

/** The number of lines that can be distinguished; all further versions share one more line. */
const MOST_LINES = 5;

/** How versions spread: the share of each, week by week. */
export function Adoption({ weeks }: { weeks: readonly FleetWeek[] }) {
  const { fleet: texts } = messages;
  const title = texts.sections.adoption;
  const oldestFirst = weeks.toReversed();
  const lines = linesOf(oldestFirst);
  const [pointed, setPointed] = useState<number>();
  const at = pointed ?? oldestFirst.length - 1;
  return (
    <Section
      title={title}
      note={texts.adoptionNote}
      table={() => <CountTable name={title} dimension="app_version" weeks={weeks} />}
    >
      {lines.length === 0 ? (
        <p>{texts.tooFew}</p>
      ) : (
        <figure>
          <LineChart
            label={texts.chartOf}
            days={oldestFirst.map(({ week_end }) => week_end)}
            lines={lines}
            onPoint={setPointed}
          />
          <figcaption>
            <p class="quiet small">{t(texts.weekOf, { day: utcDay(oldestFirst[at]!.week_end) })}</p>
            <ul class="legend">
              {lines.map(({ label, shares }, index) => (
                <li key={label}>
                  <Sample index={index} />
                  <UntrustedText text={label} /> <span class="share">{percent(shares[at] ?? 0)}</span>
                </li>
              ))}
            </ul>
          </figcaption>
        </figure>
      )}
    </Section>
  );
}

function Sample({ index }: { index: number }) {
  return (
    <svg class={`sample series-${index}`} viewBox="0 0 28 8" aria-hidden="true">
      <line x1="1" x2="27" y1="4" y2="4" stroke-dasharray={DASHES[index]!.join(' ')} />
    </svg>
  );
}

/** What named no version comes behind those that did. */
function newestVersionFirst(a: string, b: string): number {
  const { unsaid } = messages.fleet;
  return Number(a === unsaid) - Number(b === unsaid) || b.localeCompare(a, 'en', { numeric: true });
}

/** The shares of the versions that most heartbeats came from, and of all others together. */
function linesOf(weeks: readonly FleetWeek[]): Line[] {
  const byWeek = weeks.map((week) => {
    const counts = countsOf(week, 'app_version');
    const named = counts.filter(({ isOther }) => !isOther);
    return { total: totalOf(counts), named: new Map(named.map((each) => [each.label, each.heartbeats])) };
  });
  const sums = new Map<string, number>();
  for (const { named } of byWeek)
    for (const [label, heartbeats] of named) sums.set(label, (sums.get(label) ?? 0) + heartbeats);
  const versions = [...sums]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, MOST_LINES)
    .map(([label]) => label)
    .toSorted(newestVersionFirst);
  const lines = versions.map((label) => ({
    label,
    shares: byWeek.map(({ total, named }) => (total ? (named.get(label) ?? 0) / total : null)),
  }));
  const rest = byWeek.map(({ total }, week) =>
    total ? 1 - lines.reduce((sum, { shares }) => sum + (shares[week] ?? 0), 0) : null,
  );
  // Of a rounding nothing is left over.
  return rest.some((share) => share !== null && share > 0.0005)
    ? [...lines, { label: messages.fleet.rest, shares: rest }]
    : lines;
}
