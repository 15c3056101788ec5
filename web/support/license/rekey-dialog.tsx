import { fill, Stranger } from '../../shared/fill.js';
import { call } from '../call.js';
import { AskDialog } from '../parts/ask-dialog.js';
import { say as put } from '../../shared/say.js';
import { ReasonField, useReason } from '../parts/reason.js';
import { useDeed } from '../parts/use-deed.js';
import { words } from '../words.js';
import type { LicenseDialogProps } from './license-actions.js';

export function RekeyDialog({ license, email, onClose, onDone }: LicenseDialogProps) {
  const { key: say, reason: why } = words;
  const deed = useDeed();
  const reason = useReason(deed.error);
  const rekey = () =>
    deed.run(async () => {
      await call('POST', `licenses/${license.id}/rekey`, { reason: reason.value.trim() });
      onDone();
    });
  return (
    <AskDialog
      title={put(say.rekeyTitle, { hint: license.key_hint })}
      submit={say.rekeySubmit}
      danger
      deed={deed}
      isValid={reason.isValid}
      onSubmit={rekey}
      onClose={onClose}
    >
      <p>{fill(say.rekeyMeans, { email: <Stranger text={email} /> })}</p>
      <ReasonField reason={reason} usual={why.rekey} />
    </AskDialog>
  );
}
