import { fill, t, UntrustedText } from '../../shared/text.js';
import { call } from '../call.js';
import { AskDialog } from '../parts/ask-dialog.js';
import { ReasonField, useReason } from '../parts/reason.js';
import { useDeed } from '../parts/use-deed.js';
import { messages } from '../messages.js';
import type { LicenseDialogProps } from './license-actions.js';

export function RekeyDialog({ license, email, onClose, onDone }: LicenseDialogProps) {
  const { key: texts, reason: why } = messages;
  const deed = useDeed();
  const reason = useReason(deed.error);
  const rekey = () =>
    deed.run(async () => {
      await call('POST', `licenses/${license.id}/rekey`, { reason: reason.value.trim() });
      onDone();
    });
  return (
    <AskDialog
      title={t(texts.rekeyTitle, { hint: license.key_hint })}
      submit={texts.rekeySubmit}
      danger
      deed={deed}
      isValid={reason.isValid}
      onSubmit={rekey}
      onClose={onClose}
    >
      <p>{fill(texts.rekeyMeans, { email: <UntrustedText text={email} /> })}</p>
      <ReasonField reason={reason} usual={why.rekey} />
    </AskDialog>
  );
}
