import { day } from '../../shared/dates.js';
import { fill, Stranger } from '../../shared/fill.js';
import { call } from '../call.js';
import { AskDialog } from '../parts/ask-dialog.js';
import { machineText } from '../parts/machine.js';
import { say as put } from '../../shared/say.js';
import { ReasonField, useReason } from '../parts/reason.js';
import { useDeed } from '../parts/use-deed.js';
import type { Activation } from '../types.js';
import { words } from '../words.js';

interface Props {
  readonly activation: Activation;
  readonly onClose: () => void;
  readonly onReleased: (activation: Activation) => void;
}

export function ReleaseDialog({ activation, onClose, onReleased }: Props) {
  const { release: say, reason: why } = words;
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
      title={fill(say.title, { machine: <Stranger text={machineText(activation.hostname_hint)} /> })}
      submit={say.submit}
      danger
      deed={deed}
      isValid={reason.isValid}
      onSubmit={release}
      onClose={onClose}
    >
      <p>{put(say.text, { day: day(activation.activated_at), version: activation.app_version })}</p>
      <p>{say.means}</p>
      <ReasonField reason={reason} usual={why.release} />
    </AskDialog>
  );
}
