import { fill, UntrustedText } from '../../shared/texts/text.js';
import { call } from '../call.js';
import { messages } from '../messages.js';
import { ConfirmDialog } from '../parts/confirm-dialog.js';
import { emailField } from '../parts/email-field.js';
import { reasonField } from '../parts/reason.js';
import type { LicenseDialogProps } from './dialog-props.js';

/** Requests an erasure. Once it is carried out, it cannot be undone, so the address has to be typed. */
export function EraseDialog({ email, onClose, onDone }: LicenseDialogProps) {
  const { erase: texts, reason: reasons } = messages;
  const fields = {
    email: emailField(texts.confirm, (value) => value.toLowerCase() !== email && texts.confirmWrong),
    reason: reasonField({ suggestions: reasons.erase }),
  };
  return (
    <ConfirmDialog
      title={fill(texts.title, { email: <UntrustedText text={email} /> })}
      submit={texts.submit}
      danger
      fields={fields}
      onConfirm={({ reason }) => call('POST', 'erasures', { email, reason }).then(onDone)}
      onClose={onClose}
    >
      <p>{texts.explanation}</p>
    </ConfirmDialog>
  );
}
