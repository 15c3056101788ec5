import { useState } from 'preact/hooks';

/** Something a person set going: whether it goes on, and what became of it in messages. */
export interface Action {
  readonly busy: boolean;
  /** Why it did not work; empty where it did, or was not tried. */
  readonly fault: string;
  /** Does it, unless it is under way. */
  readonly run: (work: () => Promise<void>) => Promise<void>;
}

/** @param explain makes a sentence of what was thrown */
export function useAction(explain: (error: unknown) => string): Action {
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState('');
  const run = async (work: () => Promise<void>) => {
    if (busy) return;
    setBusy(true);
    setFault('');
    try {
      await work();
    } catch (error) {
      setFault(explain(error));
    } finally {
      setBusy(false);
    }
  };
  return { busy, fault, run };
}
