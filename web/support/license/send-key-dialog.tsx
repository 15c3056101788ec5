import { fill, t, UntrustedText } from '../../shared/texts/text.js';
import { call } from '../call.js';
import { messages } from '../messages.js';
import { ConfirmDialog } from '../parts/confirm-dialog.js';
import type { LicenseDialogProps } from './dialog-props.js';

export function SendKeyDialog({ license, email, onClose, onDone }: LicenseDialogProps) {
  const { key: texts } = messages;
  return (
    <ConfirmDialog
      title={t(texts.sendTitle, { hint: license.key_hint })}
      submit={texts.sendSubmit}
      onConfirm={() => call('POST', `licenses/${license.id}/send-key`, {}).then(onDone)}
      onClose={onClose}
    >
      <p>{fill(texts.sendMeans, { email: <UntrustedText text={email} /> })}</p>
    </ConfirmDialog>
  );
}
