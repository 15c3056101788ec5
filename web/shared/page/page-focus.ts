import { useEffect, useRef } from 'preact/hooks';

/** After the page is visible again, the hook waits this long for a focus event, so that it does not call `handle` twice. */
const FOCUS_DELAY_MS = 200;

/**
 * Calls the `handle` of the latest render when the person returns to the page. Another tab or another person may have changed the
 * data meanwhile. After "Back", and on telephones, browsers may report only that the page is visible again, and not the focus.
 */
export function usePageFocus(handle: () => void): void {
  const latest = useRef(handle);
  latest.current = handle;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const handleFocus = () => {
      clearTimeout(timer);
      if (document.visibilityState === 'visible') latest.current();
    };
    const handleVisibility = () => {
      clearTimeout(timer);
      timer = setTimeout(handleFocus, FOCUS_DELAY_MS);
    };
    addEventListener('focus', handleFocus);
    document.addEventListener('visibilitychange', handleVisibility);
    return () => {
      clearTimeout(timer);
      removeEventListener('focus', handleFocus);
      document.removeEventListener('visibilitychange', handleVisibility);
    };
  }, []);
}
