import { number, utcDay } from '../../shared/dates.js';
import { Stranger } from '../../shared/fill.js';
import { say as put } from '../../shared/say.js';
import { words } from '../words.js';
import type { Latency, Week } from './fleet.types.js';
import { Section } from './section.js';
import { WeekTable } from './week-table.js';

const QUANTILES = ['p50', 'p90', 'p95'] as const;

/** How long the detector takes, by chip: a mark for each quantile on one scale. */
export function LatencyByChip({ weeks }: { weeks: readonly Week[] }) {
  const { fleet: say } = words;
  const title = say.sections.latency;
  const { week_end, latency } = weeks[0]!;
  const longest = Math.max(1, ...latency.map(({ p95 }) => p95));
  return (
    <Section
      title={title}
      note={`${say.notes.latency} ${put(say.weekOf, { day: utcDay(week_end) })}.`}
      table={() => <LatencyTable weeks={weeks} />}
    >
      {latency.length === 0 ? (
        <p>{say.latencyNone}</p>
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

function Chip({ chip, longest }: { chip: Latency; longest: number }) {
  const { fleet: say } = words;
  const at = (value: number) => `${(100 * value) / longest}%`;
  return (
    <li>
      <Stranger text={chip.soc_name} />
      <span class="share">
        {QUANTILES.map((name) => `${say.quantiles[name]} ${number(chip[name])}`).join(' · ')} ms
      </span>
      <span class="track marks" aria-hidden="true">
        <span class="range" style={{ insetInlineStart: at(chip.p50), inlineSize: at(chip.p95 - chip.p50) }} />
        {QUANTILES.map((name) => (
          <span key={name} class={`mark ${name}`} style={{ insetInlineStart: at(chip[name]) }} />
        ))}
      </span>
    </li>
  );
}

function LatencyTable({ weeks }: { weeks: readonly Week[] }) {
  const { fleet: say } = words;
  const chips = [...new Set(weeks.flatMap(({ latency }) => latency.map(({ soc_name }) => soc_name)))];
  const rows = chips.flatMap((chip) =>
    QUANTILES.map((name) => ({
      key: `${chip} ${name}`,
      label: `${chip}, ${say.quantiles[name]}`,
      cells: weeks.map(({ latency }) => {
        const found = latency.find(({ soc_name }) => soc_name === chip);
        return found ? put(say.ms, { value: number(found[name]) }) : '';
      }),
    })),
  );
  return (
    <WeekTable
      name={say.sections.latency}
      head={say.chip}
      weeks={weeks.map(({ week_end }) => week_end)}
      rows={rows}
    />
  );
}
