import { canonicalVersion } from '../../../src/keys/manifests/version.js';
import { formatNumber, formatUtcDay, plural } from '../../shared/dates/dates.js';
import { fill, t, UntrustedText } from '../../shared/texts/text.js';
import type { FleetAnswer, FleetWeek } from '../../../src/http/responses/api-types.js';
import { messages } from '../messages.js';
import { countsOf, totalOf, type Count } from './counts.js';
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
  const version = live && shareOf(live.version, shares) > 0 ? live.version : shares.named[0]?.label;
  const machines = formatNumber(estimateMachines(shares.total));
  return (
    <div>
      <p class="headline">
        {version === undefined
          ? t(texts.noVersion, { machines })
          : fill(texts.share, {
              share: formatUsed(toPercent(shareOf(version, shares))),
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

/** The heartbeats of a week, and those of each version that is shown, the most frequent first. */
interface Shares {
  readonly total: number;
  readonly named: readonly Count[];
}

function sharesOf(week: FleetWeek): Shares {
  const counts = countsOf(week, 'app_version');
  const total = totalOf(counts);
  const named = counts.filter(({ isOther, label }) => !isOther && label !== messages.fleet.notReported);
  return { total, named };
}

/** The share of a version in all heartbeats, in all its spellings (`3.2` is `3.2.0`); 0 if it is not shown. */
function shareOf(version: string, { total, named }: Shares): number {
  const canonical = canonicalVersion(version);
  const isVersion = ({ label }: Count) => canonicalVersion(label) === canonical;
  return totalOf(named.filter(isVersion)) / total;
}

/** Describes the change since the week before; empty if nothing is shown for that week. */
function changeText(version: string, shares: Shares, before: Shares | undefined): string {
  if (!before || before.total === 0) return '';
  const previous = shareOf(version, before);
  if (previous === 0) return texts.newlyShown;
  // The difference of the rounded shares, so that it agrees with the percentages that the page shows.
  const points = toPercent(shareOf(version, shares)) - toPercent(previous);
  if (points === 0) return texts.same;
  return plural(Math.abs(points), points > 0 ? texts.more : texts.fewer);
}

/** Estimates the number of machines to two significant digits, because the heartbeats allow no exact number. */
const estimateMachines = (heartbeats: number) => Number((heartbeats / HEARTBEATS_PER_MACHINE).toPrecision(2));
