import { useState } from 'preact/hooks';
import type { Target } from '../queues/decide.js';
import { RequestTable, type RequestWithActivation } from '../queues/request-table.js';
import { DecideDialog } from '../queues/decide-dialog.js';
import { focusRow } from '../parts/show-change.js';
import type { LicenseDetail } from '../../../src/http/responses/api-types.js';
import type { Decision } from '../types.js';
import { messages } from '../messages.js';

/** The release requests on this license that are not decided yet, and whose activation has not ended. */
export function OpenRequests({ license }: { license: LicenseDetail }) {
  const [deciding, setDeciding] = useState<{ targets: readonly Target[]; decision: Decision }>();
  const open = license.release_requests.flatMap((request): RequestWithActivation[] => {
    const activation = license.activations.find(({ id }) => id === request.activation_id);
    return request.decision === null && activation?.state === 'active' ? [{ ...request, activation }] : [];
  });
  return (
    <>
      {open.length > 0 && (
        <section class="flow" aria-labelledby="open-requests">
          <h2 id="open-requests">{messages.requests.onLicense}</h2>
          <RequestTable rows={open} onDecide={(targets, decision) => setDeciding({ targets, decision })} />
        </section>
      )}
      {deciding && (
        <DecideDialog
          {...deciding}
          onClose={() => setDeciding(undefined)}
          onConfirmed={() => {
            setDeciding(undefined);
            focusRow(deciding.targets[0]!.activation.id);
          }}
        />
      )}
    </>
  );
}
