import { day } from '../../shared/dates.js';
import { fill, t, UntrustedText } from '../../shared/text.js';
import { call } from '../call.js';
import { AskDialog } from '../parts/ask-dialog.js';
import { machineText } from '../parts/machine.js';
import { ReasonField, useReason } from '../parts/reason.js';
import { useDeed } from '../parts/use-deed.js';
import type { Activation } from '../types.js';
import { messages } from '../messages.js';

interface Props {
  readonly activation: Activation;
  readonly onClose: () => void;
  readonly onReleased: (activation: Activation) => void;
}

export function ReleaseDialog({ activation, onClose, onReleased }: Props) {
  const { release: texts, reason: why } = messages;
  const deed = useDeed();
  const reason = useReason(deed.error);
  const release = () =>
    deed.run(async () => {
      const path = `activations/${activation.id}/release`;
      const answer = await call<{ activation: Activation }>('POST', path, { reason: reason.value.trim() });
      onReleased(answer.activation);
    });
  return (
    <AskDialog
      title={fill(texts.title, { machine: <UntrustedText text={machineText(activation.hostname_hint)} /> })}
      submit={texts.submit}
      danger
      deed={deed}
      isValid={reason.isValid}
      onSubmit={release}
      onClose={onClose}
    >
      <p>{t(texts.text, { day: day(activation.activated_at), version: activation.app_version })}</p>
      <p>{texts.means}</p>
      <ReasonField reason={reason} usual={why.release} />
    </AskDialog>
  );
}
