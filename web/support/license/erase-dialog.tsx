import { useState } from 'preact/hooks';
import { Field } from '../../shared/field.js';
import { fill, UntrustedText } from '../../shared/text.js';
import { call } from '../call.js';
import { AskDialog } from '../parts/ask-dialog.js';
import { ReasonField, useReason } from '../parts/reason.js';
import { useDeed } from '../parts/use-deed.js';
import { messages } from '../messages.js';
import type { LicenseDialogProps } from './license-actions.js';

/** It cannot be taken back, so one has to type whom it is about. */
export function EraseDialog({ email, onClose, onDone }: LicenseDialogProps) {
  const { erase: texts, reason: why } = messages;
  const deed = useDeed();
  const reason = useReason(deed.error);
  const [typed, setTyped] = useState('');
  const [wrong, setWrong] = useState('');
  const isValid = () => {
    const isSame = typed.trim().toLowerCase() === email;
    setWrong(isSame ? '' : texts.confirmWrong);
    return reason.isValid() && isSame;
  };
  const erase = () =>
    deed.run(async () => {
      await call('POST', 'erasures', { email, reason: reason.value.trim() });
      onDone();
    });
  return (
    <AskDialog
      title={fill(texts.title, { email: <UntrustedText text={email} /> })}
      submit={texts.submit}
      danger
      deed={deed}
      isValid={isValid}
      onSubmit={erase}
      onClose={onClose}
    >
      <p>{texts.means}</p>
      <Field
        label={texts.confirm}
        name="email"
        value={typed}
        onValue={setTyped}
        error={wrong}
        input={{ type: 'email', autocomplete: 'off', spellcheck: false }}
      />
      <ReasonField reason={reason} usual={why.erase} />
    </AskDialog>
  );
}
