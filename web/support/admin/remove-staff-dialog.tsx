import { fill, UntrustedText } from '../../shared/texts/text.js';
import { call } from '../call.js';
import { messages } from '../messages.js';
import { ConfirmDialog } from '../parts/confirm-dialog.js';
import { staffReasonField } from '../parts/reason.js';
import type { StaffDialogProps } from './role-dialog.js';

export function RemoveStaffDialog({ member, onClose, onDone }: StaffDialogProps) {
  const { staff: texts } = messages;
  return (
    <ConfirmDialog
      title={fill(texts.removeTitle, { email: <UntrustedText text={member.email} /> })}
      submit={texts.removeSubmit}
      danger
      fields={{ reason: staffReasonField() }}
      onConfirm={(body) => call('POST', `staff/${member.id}/remove`, body).then(() => onDone(member))}
      onClose={onClose}
    >
      <p>{texts.removeMeans}</p>
    </ConfirmDialog>
  );
}
