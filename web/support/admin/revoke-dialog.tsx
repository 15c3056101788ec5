import { day } from '../../shared/dates.js';
import { fill, UntrustedText } from '../../shared/text.js';
import { call } from '../call.js';
import { AskDialog } from '../parts/ask-dialog.js';
import { ReasonField, useReason } from '../parts/reason.js';
import { useDeed } from '../parts/use-deed.js';
import type { Token } from '../types.js';
import { messages } from '../messages.js';

interface Props {
  readonly token: Token;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function RevokeDialog({ token, onClose, onDone }: Props) {
  const { tokens: texts } = messages;
  const deed = useDeed();
  const reason = useReason(deed.error);
  const revoke = () =>
    deed.run(async () => {
      await call('POST', `tokens/${token.id}/revoke`, { reason: reason.value.trim() });
      onDone();
    });
  return (
    <AskDialog
      title={texts.revokeTitle}
      submit={texts.revokeSubmit}
      danger
      deed={deed}
      isValid={reason.isValid}
      onSubmit={revoke}
      onClose={onClose}
    >
      <p>
        {fill(texts.revokeMeans, { email: <UntrustedText text={token.email} />, day: day(token.created_at) })}
      </p>
      <ReasonField reason={reason} hint={messages.reason.hintOfStaff} />
    </AskDialog>
  );
}
