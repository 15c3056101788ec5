import { useEffect, useRef, useState } from 'preact/hooks';

/**
 * Whether this device has no connection. Without a network a browser reports that it is offline, even if the service runs on the
 * same device, so each response sets this to false.
 */
let isOffline = !navigator.onLine;
const changes = new EventTarget();

function setOffline(next: boolean): void {
  if (next === isOffline) return;
  isOffline = next;
  changes.dispatchEvent(new Event('change'));
}

addEventListener('offline', () => setOffline(true));
addEventListener('online', () => setOffline(false));

/** Notes that a request was answered. */
export const noteResponse = () => setOffline(false);

/** Notes that a request was not answered. @returns whether the reason is that this device has no connection */
export function noteNoResponse(): boolean {
  setOffline(!navigator.onLine);
  return isOffline;
}

/** Returns whether this device has no connection, and renders the component again when that changes. */
export function useIsOffline(): boolean {
  const [known, setKnown] = useState(isOffline);
  useEffect(() => {
    const read = () => setKnown(isOffline);
    // The connection may have changed since the first render.
    read();
    changes.addEventListener('change', read);
    return () => changes.removeEventListener('change', read);
  }, []);
  return known;
}

/** Calls the `handle` of the latest render when this device has a connection again. */
export function useReconnection(handle: () => void): void {
  const latest = useRef(handle);
  latest.current = handle;
  useEffect(() => {
    const handleChange = () => void (isOffline || latest.current());
    changes.addEventListener('change', handleChange);
    return () => changes.removeEventListener('change', handleChange);
  }, []);
}
