import { formatDay } from '../../shared/dates/dates.js';
import { fill, UntrustedText } from '../../shared/texts/text.js';
import { call } from '../call.js';
import { messages } from '../messages.js';
import { ConfirmDialog } from '../parts/confirm-dialog.js';
import { staffReasonField } from '../parts/reason.js';
import type { StaffToken } from '../../../src/http/responses/api-types.js';

interface Props {
  readonly token: StaffToken;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function RevokeDialog({ token, onClose, onDone }: Props) {
  const { tokens: texts } = messages;
  const email = <UntrustedText text={token.email} />;
  return (
    <ConfirmDialog
      title={texts.revokeTitle}
      submit={texts.revokeSubmit}
      danger
      fields={{ reason: staffReasonField() }}
      onConfirm={(body) => call('POST', `tokens/${token.id}/revoke`, body).then(onDone)}
      onClose={onClose}
    >
      <p>{fill(texts.revokeMeans, { email, day: formatDay(token.created_at) })}</p>
    </ConfirmDialog>
  );
}
