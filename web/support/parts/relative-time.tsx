import { useEffect, useReducer } from 'preact/hooks';
import { formatAge } from './dates.js';
import { ExactTime } from '../../shared/dates/exact-time.js';

const UPDATE_INTERVAL_MS = 60_000;

interface Props {
  readonly at: string;
  /** Whether this is the time of something planned, which may be in the future. */
  readonly isPlanned?: boolean;
}

/**
 * How long ago a time was, or in how long a planned one is. The text is updated each minute. The style sheet keeps the width of the
 * column, so that nothing moves.
 */
export function RelativeTime({ at, isPlanned = false }: Props) {
  useMinutes();
  return (
    <span class="age">
      <ExactTime at={at} text={formatAge(at, isPlanned)} />
    </span>
  );
}

const renders = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** Renders the component again each minute. All components share one timer, so that they change at the same moment. */
function useMinutes(): void {
  const [, render] = useReducer<number, void>((count) => count + 1, 0);
  useEffect(() => {
    const renderAgain = () => render();
    renders.add(renderAgain);
    timer ??= setInterval(() => renders.forEach((each) => each()), UPDATE_INTERVAL_MS);
    return () => {
      renders.delete(renderAgain);
      if (renders.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, []);
}
