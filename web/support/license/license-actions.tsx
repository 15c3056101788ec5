import { useState } from 'preact/hooks';
import { Button } from '../../shared/button.js';
import { t } from '../../shared/text.js';
import type { LicenseDetail } from '../types.js';
import { messages } from '../messages.js';
import { ChangeDialog } from './change-dialog.js';
import { EraseDialog } from './erase-dialog.js';
import { RekeyDialog } from './rekey-dialog.js';
import { SendKeyDialog } from './send-key-dialog.js';

interface Props {
  readonly license: LicenseDetail;
  readonly isAdmin: boolean;
  readonly onDone: (text: string) => void;
  readonly onLicense: (license: LicenseDetail) => void;
  readonly onChange: () => Promise<void>;
}

/** What can be done to a license as a whole; what the role may not do is not shown. */
export function LicenseActions({ license, isAdmin, onDone, onLicense, onChange }: Props) {
  const [open, setOpen] = useState<'send' | 'rekey' | 'change' | 'erase'>();
  const { email } = license;
  const close = () => setOpen(undefined);
  const done = (sentence: string) => {
    close();
    onDone(t(sentence, { email: email ?? '' }));
    void onChange();
  };
  const dialog = { license, email: email ?? '', onClose: close };
  return (
    <>
      <div class="actions" role="group" aria-label={messages.license.actions}>
        {email && <Button onClick={() => setOpen('send')}>{messages.key.send}</Button>}
        {isAdmin && <Button onClick={() => setOpen('change')}>{messages.change.button}</Button>}
        {isAdmin && email && <Button onClick={() => setOpen('rekey')}>{messages.key.rekey}</Button>}
        {isAdmin && email && (
          <Button kind="harm" onClick={() => setOpen('erase')}>
            {messages.erase.button}
          </Button>
        )}
      </div>
      {open === 'send' && <SendKeyDialog {...dialog} onDone={() => done(messages.key.sent)} />}
      {open === 'rekey' && <RekeyDialog {...dialog} onDone={() => done(messages.key.rekeyed)} />}
      {open === 'erase' && <EraseDialog {...dialog} onDone={() => done(messages.erase.done)} />}
      {open === 'change' && (
        <ChangeDialog
          {...dialog}
          onConflict={() => void onChange()}
          onDone={(changed) => {
            close();
            onLicense(changed);
            onDone(messages.change.done);
          }}
        />
      )}
    </>
  );
}
