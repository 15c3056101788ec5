import { fill, Stranger } from '../../shared/fill.js';
import { call } from '../call.js';
import { AskDialog } from '../parts/ask-dialog.js';
import { ReasonField, useReason } from '../parts/reason.js';
import { useDeed } from '../parts/use-deed.js';
import type { StaffMember } from '../types.js';
import { words } from '../words.js';
import { otherRole } from './staff-table.js';

export interface StaffDialogProps {
  readonly member: StaffMember;
  readonly onClose: () => void;
  readonly onDone: (member: StaffMember) => void;
}

export function RoleDialog({ member, onClose, onDone }: StaffDialogProps) {
  const { staff: say } = words;
  const deed = useDeed();
  const reason = useReason(deed.error);
  const role = otherRole(member);
  const change = () =>
    deed.run(async () => {
      await call('PATCH', `staff/${member.id}`, { role, reason: reason.value.trim() });
      onDone(member);
    });
  return (
    <AskDialog
      title={fill(say.roleTitle[role], { email: <Stranger text={member.email} /> })}
      submit={say.roleSubmit[role]}
      deed={deed}
      isValid={reason.isValid}
      onSubmit={change}
      onClose={onClose}
    >
      <p>{say.roleMeans[role]}</p>
      <ReasonField reason={reason} hint={words.reason.hintOfStaff} />
    </AskDialog>
  );
}
