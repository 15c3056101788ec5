import { useState } from 'preact/hooks';
import { RequestTable, type RequestWithActivation } from '../queues/request-table.js';
import { DecideDialog } from '../queues/decide-dialog.js';
import type { Decision, LicenseDetail } from '../types.js';
import { messages } from '../messages.js';

interface Props {
  readonly license: LicenseDetail;
  readonly onChange: () => Promise<void>;
  readonly onDone: (text: string, row?: string) => void;
}

/** The release requests on this license that are not decided yet. */
export function OpenRequests({ license, onChange, onDone }: Props) {
  const [deciding, setDeciding] = useState<{ request: RequestWithActivation; decision: Decision }>();
  const open = license.release_requests.flatMap((request): RequestWithActivation[] => {
    const activation = license.activations.find(({ id }) => id === request.activation_id);
    return request.decision === null && activation?.state === 'active' ? [{ ...request, activation }] : [];
  });
  return (
    <>
      {open.length > 0 && (
        <section class="flow" aria-labelledby="open-requests">
          <h2 id="open-requests">{messages.requests.onLicense}</h2>
          <RequestTable rows={open} onDecide={(request, decision) => setDeciding({ request, decision })} />
        </section>
      )}
      {deciding && (
        <DecideDialog
          {...deciding}
          onClose={() => setDeciding(undefined)}
          onDecided={(text) => {
            setDeciding(undefined);
            void onChange().then(() => onDone(text, deciding.request.activation.id));
          }}
        />
      )}
    </>
  );
}
