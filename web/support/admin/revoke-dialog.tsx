import { day } from '../../shared/dates.js';
import { fill, Stranger } from '../../shared/fill.js';
import { call } from '../call.js';
import { AskDialog } from '../parts/ask-dialog.js';
import { ReasonField, useReason } from '../parts/reason.js';
import { useDeed } from '../parts/use-deed.js';
import type { Token } from '../types.js';
import { words } from '../words.js';

interface Props {
  readonly token: Token;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function RevokeDialog({ token, onClose, onDone }: Props) {
  const { tokens: say } = words;
  const deed = useDeed();
  const reason = useReason(deed.error);
  const revoke = () =>
    deed.run(async () => {
      await call('POST', `tokens/${token.id}/revoke`, { reason: reason.value.trim() });
      onDone();
    });
  return (
    <AskDialog
      title={say.revokeTitle}
      submit={say.revokeSubmit}
      danger
      deed={deed}
      isValid={reason.isValid}
      onSubmit={revoke}
      onClose={onClose}
    >
      <p>{fill(say.revokeMeans, { email: <Stranger text={token.email} />, day: day(token.created_at) })}</p>
      <ReasonField reason={reason} hint={words.reason.hintOfStaff} />
    </AskDialog>
  );
}
