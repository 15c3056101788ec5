import type { Passkey } from '../../../src/http/responses/api-types.js';
import { formatDay } from '../../shared/dates/dates.js';
import { Notice } from '../../shared/notices/notice.js';
import { fill, t, UntrustedText } from '../../shared/texts/text.js';
import { call } from '../call.js';
import { messages } from '../messages.js';
import { ConfirmDialog } from '../parts/confirm-dialog.js';
import { passkeyName } from './passkey-name.js';

interface Props {
  readonly passkey: Passkey;
  readonly isLast: boolean;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function RemovePasskeyDialog({ passkey, isLast, onClose, onDone }: Props) {
  const { passkeys: texts } = messages;
  return (
    <ConfirmDialog
      title={fill(texts.removeTitle, { name: <UntrustedText text={passkeyName(passkey)} /> })}
      submit={texts.remove}
      danger
      onConfirm={() => call('DELETE', `passkeys/${encodeURIComponent(passkey.id)}`).then(onDone)}
      onClose={onClose}
    >
      <p>{t(texts.removeText, { day: formatDay(passkey.created_at) })}</p>
      {isLast && <Notice kind="warning">{texts.removeLast}</Notice>}
    </ConfirmDialog>
  );
}
