import { fill, UntrustedText } from '../../shared/texts/text.js';
import { call } from '../call.js';
import { messages } from '../messages.js';
import { ConfirmDialog } from '../parts/confirm-dialog.js';
import { reasonField } from '../parts/reason.js';
import type { LicenseDialogProps } from './dialog-props.js';

/** Requests an erasure. Once it is carried out, it cannot be undone, so the address has to be typed. */
export function EraseDialog({ email, onClose, onDone }: LicenseDialogProps) {
  const { erase: texts, reason: reasons } = messages;
  const fields = {
    email: {
      label: texts.confirm,
      // In a field of the type `email`, browsers convert a domain to ASCII, and the stored address has it in Unicode.
      input: { inputMode: 'email', autocomplete: 'off', spellcheck: false },
      check: (value: string) => value.normalize().toLowerCase() !== email && texts.confirmWrong,
    },
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
