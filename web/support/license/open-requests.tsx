import { useState } from 'preact/hooks';
import { RequestTable, type Asked } from '../queues/request-table.js';
import { DecideDialog } from '../queues/decide-dialog.js';
import type { Decision, LicenseDetail } from '../types.js';
import { messages } from '../messages.js';

interface Props {
  readonly license: LicenseDetail;
  readonly onChange: () => Promise<void>;
  readonly onDone: (text: string, row?: string) => void;
}

/** What the holder asks for on this license, and has no answer to. */
export function OpenRequests({ license, onChange, onDone }: Props) {
  const [deciding, setDeciding] = useState<{ asked: Asked; decision: Decision }>();
  const open = license.release_requests.flatMap((request): Asked[] => {
    const activation = license.activations.find(({ id }) => id === request.activation_id);
    return request.decision === null && activation?.state === 'active' ? [{ ...request, activation }] : [];
  });
  return (
    <>
      {open.length > 0 && (
        <section class="flow" aria-labelledby="open-requests">
          <h2 id="open-requests">{messages.requests.onLicense}</h2>
          <RequestTable rows={open} onDecide={(asked, decision) => setDeciding({ asked, decision })} />
        </section>
      )}
      {deciding && (
        <DecideDialog
          {...deciding}
          onClose={() => setDeciding(undefined)}
          onDecided={(text) => {
            setDeciding(undefined);
            void onChange().then(() => onDone(text, deciding.asked.activation.id));
          }}
        />
      )}
    </>
  );
}
