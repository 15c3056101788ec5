import { formatNumber, formatUtcDay } from '../../shared/dates/dates.js';
import { t, UntrustedText } from '../../shared/texts/text.js';
import { messages } from '../messages.js';
import type { FleetLatency, FleetWeek } from '../../../src/http/responses/api-types.js';
import { Section } from './section.js';
import { WeekTable } from './week-table.js';

const QUANTILES = ['p50', 'p90', 'p95'] as const;

/** How long the detector takes, by chip: a mark for each quantile on one scale. */
export function LatencyByChip({ weeks }: { weeks: readonly FleetWeek[] }) {
  const { fleet: texts } = messages;
  const title = texts.sections.latency;
  const { week_end, latency } = weeks[0]!;
  const longest = Math.max(1, ...latency.map(({ p95 }) => p95));
  return (
    <Section
      title={title}
      note={`${texts.notes.latency} ${t(texts.weekOf, { day: formatUtcDay(week_end) })}.`}
      table={() => <LatencyTable weeks={weeks} />}
    >
      {latency.length === 0 ? (
        <p>{texts.latencyNone}</p>
      ) : (
        <ul class="bars">
          {latency.map((chip) => (
            <Chip key={chip.soc_name} chip={chip} longest={longest} />
          ))}
        </ul>
      )}
    </Section>
  );
}

function Chip({ chip, longest }: { chip: FleetLatency; longest: number }) {
  const { fleet: texts } = messages;
  const positionOf = (value: number) => `${(100 * value) / longest}%`;
  return (
    <li>
      <UntrustedText text={chip.soc_name} />
      <span class="share">
        {QUANTILES.map((name) => `${texts.quantiles[name]} ${formatNumber(chip[name])}`).join(' · ')} ms
      </span>
      <span class="track marks" aria-hidden="true">
        <span
          class="range"
          style={{ insetInlineStart: positionOf(chip.p50), inlineSize: positionOf(chip.p95 - chip.p50) }}
        />
        {QUANTILES.map((name) => (
          <span key={name} class={`mark ${name}`} style={{ insetInlineStart: positionOf(chip[name]) }} />
        ))}
      </span>
    </li>
  );
}

function LatencyTable({ weeks }: { weeks: readonly FleetWeek[] }) {
  const { fleet: texts } = messages;
  const chips = [...new Set(weeks.flatMap(({ latency }) => latency.map(({ soc_name }) => soc_name)))];
  const rows = chips.flatMap((chip) =>
    QUANTILES.map((name) => ({
      key: `${chip} ${name}`,
      label: `${chip}, ${texts.quantiles[name]}`,
      cells: weeks.map(({ latency }) => {
        const found = latency.find(({ soc_name }) => soc_name === chip);
        return found ? t(texts.ms, { value: formatNumber(found[name]) }) : '';
      }),
    })),
  );
  return (
    <WeekTable
      name={texts.sections.latency}
      head={texts.chip}
      weeks={weeks.map(({ week_end }) => week_end)}
      rows={rows}
    />
  );
}
