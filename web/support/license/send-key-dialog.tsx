import { fill, Stranger } from '../../shared/fill.js';
import { call } from '../call.js';
import { AskDialog } from '../parts/ask-dialog.js';
import { say as put } from '../../shared/say.js';
import { useDeed } from '../parts/use-deed.js';
import { words } from '../words.js';
import type { LicenseDialogProps } from './license-actions.js';

export function SendKeyDialog({ license, email, onClose, onDone }: LicenseDialogProps) {
  const { key: say } = words;
  const deed = useDeed();
  const send = () =>
    deed.run(async () => {
      await call('POST', `licenses/${license.id}/send-key`, {});
      onDone();
    });
  return (
    <AskDialog
      title={put(say.sendTitle, { hint: license.key_hint })}
      submit={say.sendSubmit}
      deed={deed}
      onSubmit={send}
      onClose={onClose}
    >
      <p>{fill(say.sendMeans, { email: <Stranger text={email} /> })}</p>
    </AskDialog>
  );
}
