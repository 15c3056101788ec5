import { useState } from 'preact/hooks';
import { Field } from '../../shared/field.js';
import { fill, Stranger } from '../../shared/fill.js';
import { call } from '../call.js';
import { AskDialog } from '../parts/ask-dialog.js';
import { ReasonField, useReason } from '../parts/reason.js';
import { useDeed } from '../parts/use-deed.js';
import { words } from '../words.js';
import type { LicenseDialogProps } from './license-actions.js';

/** It cannot be taken back, so one has to type whom it is about. */
export function EraseDialog({ email, onClose, onDone }: LicenseDialogProps) {
  const { erase: say, reason: why } = words;
  const deed = useDeed();
  const reason = useReason(deed.error);
  const [typed, setTyped] = useState('');
  const [wrong, setWrong] = useState('');
  const isValid = () => {
    const isSame = typed.trim().toLowerCase() === email;
    setWrong(isSame ? '' : say.confirmWrong);
    return reason.isValid() && isSame;
  };
  const erase = () =>
    deed.run(async () => {
      await call('POST', 'erasures', { email, reason: reason.value.trim() });
      onDone();
    });
  return (
    <AskDialog
      title={fill(say.title, { email: <Stranger text={email} /> })}
      submit={say.submit}
      danger
      deed={deed}
      isValid={isValid}
      onSubmit={erase}
      onClose={onClose}
    >
      <p>{say.means}</p>
      <Field
        label={say.confirm}
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
