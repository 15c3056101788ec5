import type { ReleaseDecisionAnswer } from '../../shared/api-types.js';
import { fill, t, UntrustedText } from '../../shared/text.js';
import { call } from '../call.js';
import { messages } from '../messages.js';
import { ConfirmDialog } from '../parts/confirm-dialog.js';
import { machineText } from '../parts/machine.js';
import { reasonField } from '../parts/reason.js';
import type { Decision } from '../types.js';
import type { RequestWithActivation } from './request-table.js';

interface Props {
  readonly request: RequestWithActivation;
  readonly decision: Decision;
  readonly onClose: () => void;
  /** Receives a message about the decision that counts: the first one, which another person may have made. */
  readonly onDecided: (text: string) => void;
}

export function DecideDialog({ request, decision, onClose, onDecided }: Props) {
  const { requests: texts, release, reason: reasons } = messages;
  const machine = machineText(request.activation.hostname_hint);
  const isRelease = decision === 'release';
  return (
    <ConfirmDialog
      title={fill(isRelease ? release.title : texts.declineTitle, {
        machine: <UntrustedText text={machine} />,
      })}
      submit={isRelease ? release.submit : texts.declineSubmit}
      danger={isRelease}
      fields={{
        reason: isRelease
          ? reasonField({ usual: reasons.release, value: request.reason ?? '' })
          : {
              ...reasonField({ usual: reasons.decline, hint: texts.declineReasonHint }),
              label: texts.declineReason,
            },
      }}
      onConfirm={async ({ reason }) => {
        const path = `release-requests/${request.id}`;
        const answer = await call<ReleaseDecisionAnswer>('POST', path, { decision, reason });
        onDecided(t(outcomeText(decision, answer.release_request.decision), { machine }));
      }}
      onClose={onClose}
    >
      {request.reason && <p>{fill(texts.theirs, { reason: <UntrustedText text={request.reason} /> })}</p>}
      <p>{isRelease ? release.explanation : texts.declineMeans}</p>
    </ConfirmDialog>
  );
}

function outcomeText(wanted: Decision, decided: Decision): string {
  const { requests: texts, release } = messages;
  if (wanted === decided) return decided === 'release' ? release.done : texts.declined;
  return decided === 'release' ? texts.meanwhileReleased : texts.meanwhileDeclined;
}
