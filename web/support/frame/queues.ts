import { useEffect, useRef } from 'preact/hooks';
import { isSignedOut } from '../../shared/api.js';
import { useLoad, type Load } from '../use-load.js';
import type { ErasureListAnswer, ReleaseQueueAnswer } from '../../shared/api-types.js';

const EVERY_MS = 60_000;
const TOUCHES = ['focus', 'keydown', 'pointerdown'];
/** Requests keep a session alive, so polling stops without input, and the session can end by itself (docs/contract.md#staff). */
const UNTOUCHED_MS = 5 * 60_000;

export interface Queues {
  readonly requests: Load<ReleaseQueueAnswer>;
  readonly erasures: Load<ErasureListAnswer>;
  readonly requestsWaiting: number;
  readonly erasuresWaiting: number;
}

/** What waits for a decision; looked for again each minute in which someone is there to see it. */
export function useQueues(): Queues {
  const requests = useLoad<ReleaseQueueAnswer>('release-requests');
  const erasures = useLoad<ErasureListAnswer>('erasures');
  useRefresh(() => {
    // Where the session has ended, both ask again by themselves once there is another.
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
  const touched = useRef(Date.now());
  const latest = useRef(refresh);
  latest.current = refresh;
  useEffect(() => {
    const touch = () => (touched.current = Date.now());
    const look = () => {
      if (document.visibilityState === 'visible' && Date.now() - touched.current < UNTOUCHED_MS)
        latest.current();
    };
    const timer = setInterval(look, EVERY_MS);
    for (const event of TOUCHES) addEventListener(event, touch, { passive: true });
    return () => {
      clearInterval(timer);
      for (const event of TOUCHES) removeEventListener(event, touch);
    };
  }, []);
}
