import { useState } from 'preact/hooks';
import { formatNumber } from '../../shared/dates/dates.js';
import { Notice } from '../../shared/notices/notice.js';
import { t } from '../../shared/texts/text.js';
import { Choice } from '../../shared/forms/choice.js';
import { Loaded } from '../parts/loaded.js';
import { ViewTitle } from '../parts/view-title.js';
import type { Load } from '../use-load.js';
import { messages } from '../messages.js';
import { Adoption } from './adoption.js';
import { Crashes, type CrashesProps, type State } from './crashes.js';
import { DIMENSIONS } from './counts.js';
import { Distribution } from './distribution.js';
import type { FleetAnswer } from '../../../src/http/responses/api-types.js';
import { Headline } from './headline.js';
import { LatencyByChip } from './latency-by-chip.js';

/** The dimensions that have a chart here. `Adoption` shows that of the versions. */
const CHARTS = DIMENSIONS.filter((dimension) => dimension !== 'app_version');

export interface FleetViewProps {
  readonly load: Load<FleetAnswer>;
  /** The number of weeks that are shown. */
  readonly weekCount: string;
  readonly onWeekCount: (weekCount: string) => void;
}

/** The telemetry counts of all machines together; no single machine is shown. */
export function FleetView({ load, weekCount, onWeekCount }: FleetViewProps) {
  // While other weeks are loaded, the crash groups are not shown, so their filter is kept here.
  const [crashState, setCrashState] = useState<State>('open');
  const { fleet: texts } = messages;
  return (
    <div class="flow">
      <div class="view-head">
        <ViewTitle>{texts.title}</ViewTitle>
        <Choice<string>
          label={texts.weeks}
          name="weeks"
          value={weekCount}
          options={texts.weekOptions}
          onValue={onWeekCount}
        />
      </div>
      <Loaded load={load} loadingText={texts.waiting}>
        {(fleet) => (
          <>
            {fleet.weeks.length > 0 && <Headline fleet={fleet} />}
            <p class="quiet measure">{t(texts.lead, { threshold: formatNumber(fleet.threshold) })}</p>
            <FleetSections fleet={fleet} weekCount={weekCount} state={crashState} onState={setCrashState} />
          </>
        )}
      </Loaded>
    </div>
  );
}

type SectionsProps = Omit<CrashesProps, 'weeks'> & { readonly fleet: FleetAnswer };

function FleetSections({ fleet: { weeks, publications }, ...filter }: SectionsProps) {
  if (weeks.length === 0) return <Notice>{messages.fleet.empty}</Notice>;
  return (
    <>
      <Adoption weeks={weeks} publications={publications} />
      <div class="sections">
        {CHARTS.map((dimension) => (
          <Distribution key={dimension} dimension={dimension} weeks={weeks} />
        ))}
        <LatencyByChip weeks={weeks} />
      </div>
      <Crashes {...filter} weeks={weeks.map(({ week_end }) => week_end)} />
    </>
  );
}
