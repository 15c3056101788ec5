import { useState } from 'preact/hooks';
import { fill, t, UntrustedText } from '../../shared/texts/text.js';
import { messages } from '../messages.js';
import { ConfirmDialog } from '../parts/confirm-dialog.js';
import { reasonField } from '../parts/reason.js';
import { changeLicense } from './change-call.js';
import type { ConditionalDialogProps } from './dialog-props.js';

/** Replaces the key. The service refuses this if the license was changed since the dialog opened, such as by another new key. */
export function RekeyDialog({
  license: current,
  email,
  onClose,
  onConflict,
  onDone,
}: ConditionalDialogProps) {
  // The page may reload the license meanwhile; the new key replaces the one that the dialog shows.
  const [license] = useState(current);
  const [isRefused, setIsRefused] = useState(false);
  const { key: texts, reason } = messages;
  const handleConflict = async () => {
    await onConflict();
    setIsRefused(true);
  };
  return (
    <ConfirmDialog
      title={t(texts.rekeyTitle, { hint: license.key_hint })}
      submit={texts.rekeySubmit}
      danger
      fields={{ reason: reasonField({ suggestions: reason.rekey }) }}
      onConfirm={(body) =>
        changeLicense(license, { method: 'POST', path: '/rekey', body, onConflict: handleConflict }).then(
          onDone,
        )
      }
      preview={() => isRefused && <p>{texts.rekeyRefused}</p>}
      onClose={onClose}
    >
      <p>{fill(texts.rekeyMeans, { email: <UntrustedText text={email} /> })}</p>
    </ConfirmDialog>
  );
}
