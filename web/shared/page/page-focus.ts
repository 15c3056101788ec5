import { useEffect } from 'preact/hooks';

/** Calls `handle` when the person returns to the page. Another tab or another person may have changed the data meanwhile. */
export function usePageFocus(handle: () => void): void {
  useEffect(() => {
    const handleFocus = () => void (document.visibilityState === 'visible' && handle());
    addEventListener('focus', handleFocus);
    return () => removeEventListener('focus', handleFocus);
  }, [handle]);
}
