import { useState } from 'preact/hooks';
import { Field } from '../../shared/field.js';
import { call } from '../call.js';
import { AskDialog } from '../parts/ask-dialog.js';
import { Choice } from '../parts/choice.js';
import { memberErrors } from '../parts/problem-text.js';
import { useDeed } from '../parts/use-deed.js';
import type { Role, StaffMember } from '../types.js';
import { words } from '../words.js';

interface Props {
  readonly onClose: () => void;
  readonly onDone: (member: StaffMember) => void;
}

export function AddStaffDialog({ onClose, onDone }: Props) {
  const { staff: say, roles } = words;
  const deed = useDeed();
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('support');
  const [wrong, setWrong] = useState('');
  const isValid = () => {
    setWrong(email.includes('@') ? '' : say.emailWrong);
    return email.includes('@');
  };
  const add = () =>
    deed.run(async () => {
      onDone((await call<{ staff: StaffMember }>('POST', 'staff', { email: email.trim(), role })).staff);
    });
  return (
    <AskDialog
      title={say.addTitle}
      submit={say.addSubmit}
      deed={deed}
      isValid={isValid}
      onSubmit={add}
      onClose={onClose}
    >
      <p>{say.addMeans}</p>
      <Field
        label={say.email}
        name="email"
        value={email}
        onValue={setEmail}
        error={wrong || memberErrors(deed.error).email}
        input={{ type: 'email', autocomplete: 'off', spellcheck: false }}
      />
      <Choice
        label={say.role}
        name="role"
        value={role}
        options={roles}
        hint={say.roleMeans[role]}
        onValue={setRole}
      />
    </AskDialog>
  );
}
