import { useRef, useState } from 'preact/hooks';

/** Something a person asks to be done: whether it goes on, and what came in its way. */
export function useDeed() {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const going = useRef(false);
  /** Does it, unless it goes on already. @returns whether it was done */
  async function run(deed: () => Promise<unknown>): Promise<boolean> {
    if (going.current) return false;
    going.current = true;
    setBusy(true);
    setError(undefined);
    try {
      await deed();
      return true;
    } catch (thrown) {
      setError(thrown);
      return false;
    } finally {
      going.current = false;
      setBusy(false);
    }
  }
  return { busy, error, run, clear: () => setError(undefined) };
}
