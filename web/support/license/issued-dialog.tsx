import { useRef, useState } from 'preact/hooks';
import { Button } from '../../shared/forms/button.js';
import { Dialog } from '../../shared/dialogs/dialog.js';
import { goTo } from '../route.js';
import type { LicenseView } from '../../../src/http/responses/api-types.js';
import { messages } from '../messages.js';

interface Props {
  readonly license: LicenseView;
  readonly license_key: string;
  readonly onClose: () => void;
}

/** Shows the key of a license that was just issued. It is not shown again. */
export function IssuedDialog({ license, license_key, onClose }: Props) {
  const { issue: texts } = messages;
  const [copyMessage, setCopyMessage] = useState('');
  const [isCopied, setIsCopied] = useState(false);
  const key = useRef<HTMLOutputElement>(null);
  async function copy() {
    setCopyMessage('');
    try {
      await navigator.clipboard.writeText(license_key);
      setIsCopied(true);
      setCopyMessage(texts.copied);
    } catch {
      getSelection()?.selectAllChildren(key.current!);
      setCopyMessage(texts.notCopied);
    }
  }
  return (
    <Dialog title={texts.doneTitle} warning={!isCopied && texts.discard} onClose={onClose}>
      <p>
        <output ref={key} class="mono key" aria-label={texts.key} onCopy={() => setIsCopied(true)}>
          {license_key}
        </output>
      </p>
      <p>{texts.once}</p>
      <p role="status">{copyMessage}</p>
      <div class="actions">
        <Button kind="primary" onClick={() => void copy()}>
          {texts.copy}
        </Button>
        <Button
          onClick={() => {
            onClose();
            goTo('license', license.id);
          }}
        >
          {texts.open}
        </Button>
        <Button kind="link" onClick={onClose}>
          {messages.close}
        </Button>
      </div>
    </Dialog>
  );
}
