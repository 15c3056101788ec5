import { useState } from 'preact/hooks';
import { Button } from '../../shared/forms/button.js';
import { t } from '../../shared/texts/text.js';
import type { LicenseDetail } from '../../../src/http/responses/api-types.js';
import { messages } from '../messages.js';
import { ChangeDialog } from './change-dialog.js';
import { EraseDialog } from './erase-dialog.js';
import { RekeyDialog } from './rekey-dialog.js';
import { SendKeyDialog } from './send-key-dialog.js';

interface Props {
  readonly license: LicenseDetail;
  readonly isAdmin: boolean;
  /** Shows the text of a finished action. @param row where the focus moves to, if not back to the button */
  readonly onDone: (text: string, row?: string) => void;
  /** Shows the license as the answer to a change has it. */
  readonly onLicense: (license: LicenseDetail) => void;
  /** Loads the license and the queues again, after an action or a conflict. */
  readonly onChange: () => Promise<void>;
}

/** The actions on a license as a whole. Those that the role does not allow are not shown. */
export function LicenseActions({ license, isAdmin, onDone, onLicense, onChange }: Props) {
  const [openDialog, setOpenDialog] = useState<'send' | 'rekey' | 'change' | 'erase'>();
  const { email, status } = license;
  const isEnded = status === 'revoked' || status === 'refunded';
  // Why the service refuses to mail the key; undefined if it does not refuse. `not_made_here`: it cannot derive this key.
  const notMailed = isEnded ? status : license.is_key_mailable ? undefined : 'not_made_here';
  const close = () => setOpenDialog(undefined);
  const finish = (sentence: string, row?: string) => {
    close();
    onDone(t(sentence, { email: email ?? '' }), row);
    void onChange();
  };
  const dialog = { license, email: email ?? '', onClose: close };
  return (
    <>
      <div class="actions" role="group" aria-label={messages.license.actions}>
        {email && notMailed && <span class="quiet">{messages.key.notMailed[notMailed]}</span>}
        {email && !notMailed && <Button onClick={() => setOpenDialog('send')}>{messages.key.send}</Button>}
        {isAdmin && <Button onClick={() => setOpenDialog('change')}>{messages.change.button}</Button>}
        {isAdmin && email && !isEnded && (
          <Button onClick={() => setOpenDialog('rekey')}>{messages.key.rekey}</Button>
        )}
        {isAdmin && email && (
          <Button kind="harm" onClick={() => setOpenDialog('erase')}>
            {messages.erase.button}
          </Button>
        )}
      </div>
      {openDialog === 'send' && <SendKeyDialog {...dialog} onDone={() => finish(messages.key.sent)} />}
      {openDialog === 'rekey' && (
        <RekeyDialog {...dialog} onConflict={onChange} onDone={() => finish(messages.key.rekeyed)} />
      )}
      {openDialog === 'erase' && (
        // An erased license has no such button, so the heading gets the focus.
        <EraseDialog {...dialog} onDone={() => finish(messages.erase.done, '')} />
      )}
      {openDialog === 'change' && (
        <ChangeDialog
          {...dialog}
          onConflict={onChange}
          onDone={(changed) => {
            close();
            onLicense(changed);
            onDone(messages.change.done);
            void onChange();
          }}
        />
      )}
    </>
  );
}
