import { fill, t, UntrustedText } from '../../shared/text.js';
import { call } from '../call.js';
import { AskDialog } from '../parts/ask-dialog.js';
import { useDeed } from '../parts/use-deed.js';
import { messages } from '../messages.js';
import type { LicenseDialogProps } from './license-actions.js';

export function SendKeyDialog({ license, email, onClose, onDone }: LicenseDialogProps) {
  const { key: texts } = messages;
  const deed = useDeed();
  const send = () =>
    deed.run(async () => {
      await call('POST', `licenses/${license.id}/send-key`, {});
      onDone();
    });
  return (
    <AskDialog
      title={t(texts.sendTitle, { hint: license.key_hint })}
      submit={texts.sendSubmit}
      deed={deed}
      onSubmit={send}
      onClose={onClose}
    >
      <p>{fill(texts.sendMeans, { email: <UntrustedText text={email} /> })}</p>
    </AskDialog>
  );
}
