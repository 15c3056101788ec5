import { useEffect, useRef } from 'preact/hooks';
import { isSignedOut } from '../../shared/api/api.js';
import { useOnDecided } from '../queues/row-states.js';
import { useLoad, type Load } from '../use-load.js';
import type { ErasureListAnswer, ReleaseQueueAnswer } from '../../../src/http/responses/api-types.js';

const POLL_INTERVAL_MS = 60_000;
const INPUT_EVENTS = ['focus', 'keydown', 'pointerdown'];
/** Each poll prolongs the session. Without input polling stops, so that the session can end by itself (src/http/sessions/). */
const MAX_IDLE_MS = 5 * 60_000;

export interface Queues {
  readonly requests: Load<ReleaseQueueAnswer>;
  readonly erasures: Load<ErasureListAnswer>;
  readonly requestsWaiting: number;
  readonly erasuresWaiting: number;
}

/**
 * Loads the release requests and the erasure requests, and loads them again each minute while the page is visible and
 * used.
 */
export function useQueues(): Queues {
  const requests = useLoad<ReleaseQueueAnswer>('release-requests');
  const erasures = useLoad<ErasureListAnswer>('erasures');
  useOnDecided(requests.reload);
  useRefresh(() => {
    // After the end of a session both queues load again by themselves as soon as there is a new session.
    if (isSignedOut(requests.error) || isSignedOut(erasures.error)) return;
    void requests.reload();
    void erasures.reload();
  });
  return {
    requests,
    erasures,
    requestsWaiting: requests.data?.release_requests.length ?? 0,
    erasuresWaiting: erasures.data?.erasures.filter(({ state }) => state === 'waiting').length ?? 0,
  };
}

function useRefresh(refresh: () => void): void {
  const lastInput = useRef(Date.now());
  const latest = useRef(refresh);
  latest.current = refresh;
  useEffect(() => {
    const noteInput = () => (lastInput.current = Date.now());
    const refreshIfUsed = () => {
      if (document.visibilityState === 'visible' && Date.now() - lastInput.current < MAX_IDLE_MS)
        latest.current();
    };
    const timer = setInterval(refreshIfUsed, POLL_INTERVAL_MS);
    for (const event of INPUT_EVENTS) addEventListener(event, noteInput, { passive: true });
    return () => {
      clearInterval(timer);
      for (const event of INPUT_EVENTS) removeEventListener(event, noteInput);
    };
  }, []);
}
