import { formatNumber } from '../../shared/dates/dates.js';
import { t } from '../../shared/texts/text.js';
import { messages } from '../messages.js';

/** Width of a bar with its gap, and height of the highest bar, in units of the drawing. */
const STEP = 5;
const HEIGHT = 20;

/** Draws the counts of weeks as small bars, the newest last, and says how the last two differ. @param counts newest first */
export function Spark({ counts }: { counts: readonly number[] }) {
  const highest = Math.max(1, ...counts);
  const [last = 0, before = 0] = counts;
  return (
    <>
      {/* The text comes first, because the first lines of all cells of a row have one baseline. */}
      {counts.length > 1 && (
        <span class="quiet small change">
          {t(trendText(counts), { last: formatNumber(last), before: formatNumber(before) })}
        </span>
      )}
      <svg
        class="spark"
        viewBox={`0 0 ${counts.length * STEP} ${HEIGHT}`}
        preserveAspectRatio="xMinYMax"
        aria-hidden="true"
      >
        {counts.toReversed().map((count, index) => {
          // A count above 0 is always visible.
          const height = count === 0 ? 1 : Math.max(3, (HEIGHT * count) / highest);
          return (
            <rect
              key={index}
              class={count === 0 ? 'zero' : ''}
              x={index * STEP}
              y={HEIGHT - height}
              width={STEP - 1.5}
              height={height}
            />
          );
        })}
      </svg>
    </>
  );
}

/** @param counts newest first; a trend is "new" only if there are more than two, and all but the newest are 0 */
function trendText([last = 0, before = 0, ...earlier]: readonly number[]): string {
  const { trends } = messages.fleet;
  if (last > 0 && before === 0 && earlier.length > 0 && earlier.every((count) => count === 0))
    return trends.isNew;
  if (last === before) return trends.same;
  return last > before ? trends.rising : trends.falling;
}
