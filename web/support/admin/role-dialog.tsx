import type { StaffMember } from '../../../src/http/responses/api-types.js';
import { fill, UntrustedText } from '../../shared/texts/text.js';
import { call } from '../call.js';
import { messages } from '../messages.js';
import { ConfirmDialog } from '../parts/confirm-dialog.js';
import { staffReasonField } from '../parts/reason.js';
import { otherRole } from './staff-table.js';

export interface StaffDialogProps {
  readonly member: StaffMember;
  readonly onClose: () => void;
  readonly onDone: (member: StaffMember) => void;
}

export function RoleDialog({ member, onClose, onDone }: StaffDialogProps) {
  const { staff: texts } = messages;
  const role = otherRole(member);
  return (
    <ConfirmDialog
      title={fill(texts.roleTitle[role], { email: <UntrustedText text={member.email} /> })}
      submit={texts.roleSubmit[role]}
      fields={{ reason: staffReasonField() }}
      onConfirm={({ reason }) =>
        call('PATCH', `staff/${member.id}`, { role, reason }).then(() => onDone(member))
      }
      onClose={onClose}
    >
      <p>{texts.roleMeans[role]}</p>
    </ConfirmDialog>
  );
}
