import { useEffect, useReducer } from 'preact/hooks';
import { formatAge } from './dates.js';
import { ExactTime } from '../../shared/dates/exact-time.js';

const UPDATE_INTERVAL_MS = 60_000;

interface Props {
  readonly at: string;
  /** Whether this is the time of something planned, which may be in the future. */
  readonly isPlanned?: boolean;
}

/** How long ago a time was, as long as it is shown. Its width is that of the longest text, so that nothing moves. */
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

/** Renders the component again each minute. One timer is for all components, so that they change at once. */
function useMinutes(): void {
  const [, render] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const renderAgain = () => render(undefined as never);
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
