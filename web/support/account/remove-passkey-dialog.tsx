import { day } from '../../shared/dates.js';
import { Notice } from '../../shared/notice.js';
import { call } from '../call.js';
import { AskDialog } from '../parts/ask-dialog.js';
import { say as put } from '../../shared/say.js';
import { useDeed } from '../parts/use-deed.js';
import type { Passkey } from '../types.js';
import { words } from '../words.js';

interface Props {
  readonly passkey: Passkey;
  readonly isLast: boolean;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function RemovePasskeyDialog({ passkey, isLast, onClose, onDone }: Props) {
  const { passkeys: say } = words;
  const deed = useDeed();
  const remove = () =>
    deed.run(async () => {
      await call('DELETE', `passkeys/${encodeURIComponent(passkey.id)}`);
      onDone();
    });
  return (
    <AskDialog
      title={say.removeTitle}
      submit={say.remove}
      danger
      deed={deed}
      onSubmit={remove}
      onClose={onClose}
    >
      <p>{put(say.removeText, { day: day(passkey.created_at) })}</p>
      {isLast && <Notice kind="warning">{say.removeLast}</Notice>}
    </AskDialog>
  );
}
