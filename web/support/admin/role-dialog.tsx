import { fill, UntrustedText } from '../../shared/text.js';
import { call } from '../call.js';
import { AskDialog } from '../parts/ask-dialog.js';
import { ReasonField, useReason } from '../parts/reason.js';
import { useDeed } from '../parts/use-deed.js';
import type { StaffMember } from '../types.js';
import { messages } from '../messages.js';
import { otherRole } from './staff-table.js';

export interface StaffDialogProps {
  readonly member: StaffMember;
  readonly onClose: () => void;
  readonly onDone: (member: StaffMember) => void;
}

export function RoleDialog({ member, onClose, onDone }: StaffDialogProps) {
  const { staff: texts } = messages;
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
      title={fill(texts.roleTitle[role], { email: <UntrustedText text={member.email} /> })}
      submit={texts.roleSubmit[role]}
      deed={deed}
      isValid={reason.isValid}
      onSubmit={change}
      onClose={onClose}
    >
      <p>{texts.roleMeans[role]}</p>
      <ReasonField reason={reason} hint={messages.reason.hintOfStaff} />
    </AskDialog>
  );
}
