import { formatNumber, formatUtcDay, plural } from '../../shared/dates/dates.js';
import { fill, t, UntrustedText } from '../../shared/texts/text.js';
import type { FleetAnswer, FleetWeek } from '../../../src/http/responses/api-types.js';
import { messages } from '../messages.js';
import { countsOf, totalOf } from './counts.js';
import { formatUsed, toPercent } from './shares.js';

const texts = messages.fleet.headline;

/** The number of heartbeats that a machine sends in a week: four a day. */
const HEARTBEATS_PER_MACHINE = 28;

/**
 * States in a sentence the share of the heartbeats that came from the live version, how it changed in a week, and an
 * estimate of the number of all machines. If the live version is not shown, the sentence is about the most frequent
 * version.
 */
export function Headline({ fleet: { weeks, publications, threshold } }: { fleet: FleetAnswer }) {
  const [newest, before] = weeks as [FleetWeek, ...FleetWeek[]];
  const shares = sharesOf(newest);
  const day = formatUtcDay(newest.week_end);
  if (shares.total === 0)
    return <p class="headline">{t(texts.tooFew, { day, threshold: formatNumber(threshold) })}</p>;
  const [live] = publications;
  const version = live && shares.byVersion.has(live.version) ? live.version : shares.mostFrequent;
  const machines = formatNumber(estimateMachines(shares.total));
  return (
    <div>
      <p class="headline">
        {version === undefined
          ? t(texts.noVersion, { machines })
          : fill(texts.share, {
              share: formatUsed(toPercent(shares.byVersion.get(version)!)),
              version: <UntrustedText text={version} />,
              change: changeText(version, shares, before && sharesOf(before)),
              machines,
            })}
      </p>
      {live && live.version !== version && (
        <p>{t(texts.notShown, { version: live.version, day: formatUtcDay(live.published_at) })}</p>
      )}
      <p class="quiet small">{t(texts.estimate, { day })}</p>
    </div>
  );
}

/** The versions that are shown for a week, each with its share of all heartbeats. */
interface Shares {
  readonly total: number;
  readonly byVersion: ReadonlyMap<string, number>;
  readonly mostFrequent: string | undefined;
}

function sharesOf(week: FleetWeek): Shares {
  const counts = countsOf(week, 'app_version');
  const total = totalOf(counts);
  const named = counts.filter(({ isOther, label }) => !isOther && label !== messages.fleet.notReported);
  return {
    total,
    byVersion: new Map(named.map(({ label, heartbeats }) => [label, heartbeats / total])),
    mostFrequent: named[0]?.label,
  };
}

/** Describes the change since the week before; empty if nothing is shown for that week. */
function changeText(version: string, { byVersion }: Shares, before: Shares | undefined): string {
  if (!before || before.total === 0) return '';
  const previous = before.byVersion.get(version);
  if (previous === undefined) return texts.newlyShown;
  // The difference of the rounded shares, so that it agrees with the percentages that the page shows.
  const points = toPercent(byVersion.get(version)!) - toPercent(previous);
  if (points === 0) return texts.same;
  return plural(Math.abs(points), points > 0 ? texts.more : texts.fewer);
}

/** Estimates the number of machines to two significant digits, because the heartbeats allow no exact number. */
const estimateMachines = (heartbeats: number) => Number((heartbeats / HEARTBEATS_PER_MACHINE).toPrecision(2));
