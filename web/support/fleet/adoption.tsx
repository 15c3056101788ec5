import { useState } from 'preact/hooks';
import { formatUtcDay } from '../../shared/dates/dates.js';
import { formatPercent } from '../parts/dates.js';
import { t, UntrustedText } from '../../shared/texts/text.js';
import { messages } from '../messages.js';
import { CountTable } from './count-table.js';
import { countsOf, totalOf } from './counts.js';
import type { FleetAnswer, FleetWeek } from '../../../src/http/responses/api-types.js';
import { DASHES, LineChart, type Line } from './line-chart.js';
import { PublicationList } from './publication-list.js';
import { marksOf, publicationRow } from './publications.js';
import { Section } from './section.js';
import { formatUsed, toPercent } from './shares.js';

/** The number of versions with a line of their own; all further versions share one more line. */
const MAX_VERSION_LINES = 5;
/** A line for the rest is drawn only if its share is larger in some week. A smaller rest would be invisible. */
const MIN_REST_SHARE = 0.0005;

/** A chart of how versions spread: the share of each version by week, with the days on which versions were published. */
export function Adoption({ weeks, publications }: Pick<FleetAnswer, 'weeks' | 'publications'>) {
  const { fleet: texts } = messages;
  const title = texts.sections.adoption;
  const oldestFirst = weeks.toReversed();
  const lines = linesOf(oldestFirst);
  const marks = marksOf(publications, oldestFirst);
  // The data may be loaded again with other weeks, so the state has the day of a week and the key of a mark, not their positions.
  const [pointedDay, setPointedDay] = useState<string>();
  const [selected, setSelected] = useState<string>();
  const pointedWeek = oldestFirst.findIndex(({ week_end }) => week_end === pointedDay);
  const selectedWeek = marks.find(({ key }) => key === selected)?.week ?? oldestFirst.length - 1;
  const week = pointedWeek < 0 ? selectedWeek : pointedWeek;
  return (
    <Section
      title={title}
      note={texts.adoptionNote}
      table={() => (
        <CountTable
          name={title}
          dimension="app_version"
          weeks={weeks}
          firstRow={publicationRow(publications, weeks)}
        />
      )}
    >
      {lines.length === 0 ? (
        <p>{texts.tooFew}</p>
      ) : (
        <figure>
          <LineChart
            label={texts.chartOf}
            days={oldestFirst.map(({ week_end }) => week_end)}
            lines={lines}
            marks={marks.map(({ key, at, publication }) => ({
              at,
              label: publication.version,
              isSelected: key === selected,
            }))}
            onPoint={setPointedDay}
          />
          <figcaption>
            <p class="quiet small">{t(texts.weekOf, { day: formatUtcDay(oldestFirst[week]!.week_end) })}</p>
            <ul class="legend">
              {lines.map(({ label, shares }, index) => (
                <li key={label}>
                  <LineSample index={index} />
                  <UntrustedText text={label} /> <span class="share">{legendShare(shares[week])}</span>
                </li>
              ))}
            </ul>
          </figcaption>
          <PublicationList marks={marks} selected={selected} onSelect={setSelected} />
        </figure>
      )}
    </Section>
  );
}

/** A share in whole percent, or a dash for a week without data. A version that is in use never has 0 %. */
function legendShare(share: number | null | undefined): string {
  if (share === null || share === undefined) return '–';
  return share === 0 ? formatPercent(0) : formatUsed(toPercent(share));
}

function LineSample({ index }: { index: number }) {
  return (
    <svg class="sample" viewBox="0 0 28 8" aria-hidden="true">
      <line
        x1="1"
        x2="27"
        y1="4"
        y2="4"
        stroke-dasharray={DASHES[index]!.join(' ')}
        style={{ stroke: `var(--series-${index})` }}
      />
    </svg>
  );
}

/** Sorts the newest version first. Heartbeats without a version come last. */
function newestVersionFirst(a: string, b: string): number {
  const { notReported } = messages.fleet;
  return Number(a === notReported) - Number(b === notReported) || b.localeCompare(a, 'en', { numeric: true });
}

/** The shares of the most frequent versions, and of all others together. */
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
    .slice(0, MAX_VERSION_LINES)
    .map(([label]) => label)
    .toSorted(newestVersionFirst);
  const lines = versions.map((label) => ({
    label,
    shares: byWeek.map(({ total, named }) => (total ? (named.get(label) ?? 0) / total : null)),
  }));
  const rest = byWeek.map(({ total, named }) =>
    total ? (total - versions.reduce((sum, label) => sum + (named.get(label) ?? 0), 0)) / total : null,
  );
  return rest.some((share) => share !== null && share > MIN_REST_SHARE)
    ? [...lines, { label: messages.fleet.rest, shares: rest }]
    : lines;
}
