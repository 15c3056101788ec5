import { fill, Stranger } from '../../shared/fill.js';
import { call } from '../call.js';
import { AskDialog } from '../parts/ask-dialog.js';
import { ReasonField, useReason } from '../parts/reason.js';
import { useDeed } from '../parts/use-deed.js';
import { words } from '../words.js';
import type { StaffDialogProps } from './role-dialog.js';

export function RemoveStaffDialog({ member, onClose, onDone }: StaffDialogProps) {
  const { staff: say } = words;
  const deed = useDeed();
  const reason = useReason(deed.error);
  const remove = () =>
    deed.run(async () => {
      await call('POST', `staff/${member.id}/remove`, { reason: reason.value.trim() });
      onDone(member);
    });
  return (
    <AskDialog
      title={fill(say.removeTitle, { email: <Stranger text={member.email} /> })}
      submit={say.removeSubmit}
      danger
      deed={deed}
      isValid={reason.isValid}
      onSubmit={remove}
      onClose={onClose}
    >
      <p>{say.removeMeans}</p>
      <ReasonField reason={reason} hint={words.reason.hintOfStaff} />
    </AskDialog>
  );
}
