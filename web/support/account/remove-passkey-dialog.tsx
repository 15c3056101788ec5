import { day } from '../../shared/dates.js';
import { Notice } from '../../shared/notice.js';
import { t } from '../../shared/text.js';
import { call } from '../call.js';
import { AskDialog } from '../parts/ask-dialog.js';
import { useDeed } from '../parts/use-deed.js';
import type { Passkey } from '../types.js';
import { messages } from '../messages.js';

interface Props {
  readonly passkey: Passkey;
  readonly isLast: boolean;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function RemovePasskeyDialog({ passkey, isLast, onClose, onDone }: Props) {
  const { passkeys: texts } = messages;
  const deed = useDeed();
  const remove = () =>
    deed.run(async () => {
      await call('DELETE', `passkeys/${encodeURIComponent(passkey.id)}`);
      onDone();
    });
  return (
    <AskDialog
      title={texts.removeTitle}
      submit={texts.remove}
      danger
      deed={deed}
      onSubmit={remove}
      onClose={onClose}
    >
      <p>{t(texts.removeText, { day: day(passkey.created_at) })}</p>
      {isLast && <Notice kind="warning">{texts.removeLast}</Notice>}
    </AskDialog>
  );
}
