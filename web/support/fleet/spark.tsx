import { number } from '../../shared/dates.js';
import { t } from '../../shared/text.js';
import { messages } from '../messages.js';

const STEP = 5;
const HEIGHT = 20;

/** Counts over weeks as small bars, the newest at the end; given newest first. */
export function Spark({ counts }: { counts: readonly number[] }) {
  const most = Math.max(1, ...counts);
  const [last = 0, before = 0] = counts;
  return (
    <>
      <svg class="spark" viewBox={`0 0 ${counts.length * STEP} ${HEIGHT}`} aria-hidden="true">
        {counts.toReversed().map((count, index) => {
          // What is there at all is seen.
          const height = count === 0 ? 1 : Math.max(3, (HEIGHT * count) / most);
          return (
            <rect
              key={index}
              class={count === 0 ? 'nought' : ''}
              x={index * STEP}
              y={HEIGHT - height}
              width={STEP - 1.5}
              height={height}
            />
          );
        })}
      </svg>
      <span class="unseen">
        {t(messages.fleet.trendText, { last: number(last), before: number(before) })}
      </span>
    </>
  );
}
