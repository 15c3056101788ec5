import type { StaffAnswer, StaffMember } from '../../../src/http/responses/api-types.js';
import { call } from '../call.js';
import { messages } from '../messages.js';
import { ConfirmDialog } from '../parts/confirm-dialog.js';
import { emailField } from '../parts/email-field.js';
import type { Role } from '../types.js';

interface Props {
  readonly onClose: () => void;
  readonly onDone: (member: StaffMember) => void;
}

export function AddStaffDialog({ onClose, onDone }: Props) {
  const { staff: texts, roles } = messages;
  const fields = {
    email: emailField(texts.email, (value) => !value.includes('@') && texts.emailWrong),
    role: {
      label: texts.role,
      value: 'support',
      options: roles,
      hint: (value: string) => texts.roleMeans[value as Role],
    },
  };
  return (
    <ConfirmDialog
      title={texts.addTitle}
      submit={texts.addSubmit}
      fields={fields}
      onConfirm={async (values) => onDone((await call<StaffAnswer>('POST', 'staff', values)).staff)}
      onClose={onClose}
    >
      <p>{texts.addMeans}</p>
    </ConfirmDialog>
  );
}
