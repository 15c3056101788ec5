import type { Passkey, PasskeyAnswer } from '../../../src/http/responses/api-types.js';
import { fill, UntrustedText } from '../../shared/texts/text.js';
import { call } from '../call.js';
import { messages } from '../messages.js';
import { ConfirmDialog } from '../parts/confirm-dialog.js';
import { passkeyName } from './passkey-name.js';

interface Props {
  readonly passkey: Passkey;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function RenamePasskeyDialog({ passkey, onClose, onDone }: Props) {
  const { passkeys: texts } = messages;
  return (
    <ConfirmDialog
      title={fill(texts.renameTitle, { name: <UntrustedText text={passkeyName(passkey)} /> })}
      submit={texts.renameSubmit}
      fields={{
        name: {
          label: texts.name,
          hint: texts.renameHint,
          value: passkey.name ?? '',
          input: { autocomplete: 'off', maxLength: 100 },
        },
      }}
      onConfirm={({ name }) =>
        call<PasskeyAnswer>('PATCH', `passkeys/${encodeURIComponent(passkey.id)}`, { name }).then(onDone)
      }
      onClose={onClose}
    />
  );
}
