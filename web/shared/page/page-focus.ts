import { useEffect, useRef } from 'preact/hooks';

/**
 * Calls the `handle` of the latest render when the person returns to the page. Another tab or another person may have changed the
 * data meanwhile.
 */
export function usePageFocus(handle: () => void): void {
  const latest = useRef(handle);
  latest.current = handle;
  useEffect(() => {
    const handleFocus = () => void (document.visibilityState === 'visible' && latest.current());
    addEventListener('focus', handleFocus);
    return () => removeEventListener('focus', handleFocus);
  }, []);
}
