import { fill, UntrustedText } from '../../shared/text.js';
import { call } from '../call.js';
import { AskDialog } from '../parts/ask-dialog.js';
import { ReasonField, useReason } from '../parts/reason.js';
import { useDeed } from '../parts/use-deed.js';
import { messages } from '../messages.js';
import type { StaffDialogProps } from './role-dialog.js';

export function RemoveStaffDialog({ member, onClose, onDone }: StaffDialogProps) {
  const { staff: texts } = messages;
  const deed = useDeed();
  const reason = useReason(deed.error);
  const remove = () =>
    deed.run(async () => {
      await call('POST', `staff/${member.id}/remove`, { reason: reason.value.trim() });
      onDone(member);
    });
  return (
    <AskDialog
      title={fill(texts.removeTitle, { email: <UntrustedText text={member.email} /> })}
      submit={texts.removeSubmit}
      danger
      deed={deed}
      isValid={reason.isValid}
      onSubmit={remove}
      onClose={onClose}
    >
      <p>{texts.removeMeans}</p>
      <ReasonField reason={reason} hint={messages.reason.hintOfStaff} />
    </AskDialog>
  );
}
