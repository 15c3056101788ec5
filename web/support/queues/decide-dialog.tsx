import { fill, t, UntrustedText } from '../../shared/text.js';
import { call } from '../call.js';
import { AskDialog } from '../parts/ask-dialog.js';
import { machineText } from '../parts/machine.js';
import { ReasonField, useReason } from '../parts/reason.js';
import { useDeed } from '../parts/use-deed.js';
import type { Decision } from '../types.js';
import { messages } from '../messages.js';
import type { Asked } from './request-table.js';

interface Props {
  readonly asked: Asked;
  readonly decision: Decision;
  readonly onClose: () => void;
  /** Says how it was decided: by whoever came first. */
  readonly onDecided: (text: string) => void;
}

export function DecideDialog({ asked, decision, onClose, onDecided }: Props) {
  const { requests: texts, release, reason: why } = messages;
  const deed = useDeed();
  const reason = useReason(deed.error);
  const machine = machineText(asked.activation.hostname_hint);
  const decide = () =>
    deed.run(async () => {
      const body = { decision, reason: reason.value.trim() };
      const { release_request } = await call<{ release_request: { decision: Decision } }>(
        'POST',
        `release-requests/${asked.id}`,
        body,
      );
      onDecided(t(outcome(decision, release_request.decision), { machine }));
    });
  const isRelease = decision === 'release';
  return (
    <AskDialog
      title={fill(isRelease ? release.title : texts.declineTitle, {
        machine: <UntrustedText text={machine} />,
      })}
      submit={isRelease ? release.submit : texts.declineSubmit}
      danger={isRelease}
      deed={deed}
      isValid={reason.isValid}
      onSubmit={decide}
      onClose={onClose}
    >
      {asked.reason && <p>{fill(texts.theirs, { reason: <UntrustedText text={asked.reason} /> })}</p>}
      <p>{isRelease ? release.means : texts.declineMeans}</p>
      <ReasonField reason={reason} usual={isRelease ? why.release : why.decline} />
    </AskDialog>
  );
}

function outcome(wanted: Decision, decided: Decision): string {
  const { requests: texts, release } = messages;
  if (wanted === decided) return decided === 'release' ? release.done : texts.declined;
  return decided === 'release' ? texts.meanwhileReleased : texts.meanwhileDeclined;
}
