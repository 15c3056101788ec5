import { useEffect, useState } from 'preact/hooks';
import type { DecisionMailsAnswer } from '../../../src/http/responses/api-types.js';
import { call } from '../call.js';

let loaded: DecisionMailsAnswer | undefined;

/**
 * Returns what the mails about decisions say; undefined until it is loaded. `RequestTable` and `MachinesInUse` load it before a
 * dialog shows it, so that nothing in the dialog moves. Without it a decision can still be made, so a failure is not shown.
 */
export function useDecisionMails(): DecisionMailsAnswer | undefined {
  const [texts, setTexts] = useState(loaded);
  useEffect(() => {
    // The answer to another component may have come since the first render of this one.
    if (loaded) return setTexts(loaded);
    void call<DecisionMailsAnswer>('GET', 'release-requests/mails').then(
      (answer) => setTexts((loaded = answer)),
      () => undefined,
    );
  }, []);
  return texts;
}
