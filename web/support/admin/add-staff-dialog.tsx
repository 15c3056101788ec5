import { useState } from 'preact/hooks';
import { Field } from '../../shared/field.js';
import { call } from '../call.js';
import { AskDialog } from '../parts/ask-dialog.js';
import { Choice } from '../parts/choice.js';
import { memberErrors } from '../parts/problem-text.js';
import { useDeed } from '../parts/use-deed.js';
import type { Role, StaffMember } from '../types.js';
import { messages } from '../messages.js';

interface Props {
  readonly onClose: () => void;
  readonly onDone: (member: StaffMember) => void;
}

export function AddStaffDialog({ onClose, onDone }: Props) {
  const { staff: texts, roles } = messages;
  const deed = useDeed();
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('support');
  const [wrong, setWrong] = useState('');
  const isValid = () => {
    setWrong(email.includes('@') ? '' : texts.emailWrong);
    return email.includes('@');
  };
  const add = () =>
    deed.run(async () => {
      onDone((await call<{ staff: StaffMember }>('POST', 'staff', { email: email.trim(), role })).staff);
    });
  return (
    <AskDialog
      title={texts.addTitle}
      submit={texts.addSubmit}
      deed={deed}
      isValid={isValid}
      onSubmit={add}
      onClose={onClose}
    >
      <p>{texts.addMeans}</p>
      <Field
        label={texts.email}
        name="email"
        value={email}
        onValue={setEmail}
        error={wrong || memberErrors(deed.error).email}
        input={{ type: 'email', autocomplete: 'off', spellcheck: false }}
      />
      <Choice
        label={texts.role}
        name="role"
        value={role}
        options={roles}
        hint={texts.roleMeans[role]}
        onValue={setRole}
      />
    </AskDialog>
  );
}
