import type { Activation, ReleaseAnswer } from '../../shared/api-types.js';
import { formatDay } from '../../shared/dates.js';
import { fill, t, UntrustedText } from '../../shared/text.js';
import { call } from '../call.js';
import { messages } from '../messages.js';
import { ConfirmDialog } from '../parts/confirm-dialog.js';
import { machineText } from '../parts/machine.js';
import { reasonField } from '../parts/reason.js';

interface Props {
  readonly activation: Activation;
  readonly onClose: () => void;
  readonly onReleased: (answer: ReleaseAnswer) => void;
}

export function ReleaseDialog({ activation, onClose, onReleased }: Props) {
  const { release: texts, reason } = messages;
  const { id, hostname_hint, activated_at, app_version: version } = activation;
  return (
    <ConfirmDialog
      title={fill(texts.title, { machine: <UntrustedText text={machineText(hostname_hint)} /> })}
      submit={texts.submit}
      danger
      fields={{ reason: reasonField({ usual: reason.release }) }}
      onConfirm={async (body) =>
        onReleased(await call<ReleaseAnswer>('POST', `activations/${id}/release`, body))
      }
      onClose={onClose}
    >
      <p>{t(texts.text, { day: formatDay(activated_at), version })}</p>
      <p>{texts.explanation}</p>
    </ConfirmDialog>
  );
}
