import { fill, t, UntrustedText } from '../../shared/text.js';
import { call } from '../call.js';
import { messages } from '../messages.js';
import { ConfirmDialog } from '../parts/confirm-dialog.js';
import { reasonField } from '../parts/reason.js';
import type { LicenseDialogProps } from './dialog-props.js';

export function RekeyDialog({ license, email, onClose, onDone }: LicenseDialogProps) {
  const { key: texts, reason } = messages;
  return (
    <ConfirmDialog
      title={t(texts.rekeyTitle, { hint: license.key_hint })}
      submit={texts.rekeySubmit}
      danger
      fields={{ reason: reasonField({ usual: reason.rekey }) }}
      onConfirm={(body) => call('POST', `licenses/${license.id}/rekey`, body).then(onDone)}
      onClose={onClose}
    >
      <p>{fill(texts.rekeyMeans, { email: <UntrustedText text={email} /> })}</p>
    </ConfirmDialog>
  );
}
