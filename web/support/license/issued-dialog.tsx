import { useRef, useState } from 'preact/hooks';
import { Button } from '../../shared/button.js';
import { Dialog } from '../../shared/dialog.js';
import { goTo } from '../route.js';
import type { License } from '../types.js';
import { words } from '../words.js';

interface Props {
  readonly license: License;
  readonly license_key: string;
  readonly onClose: () => void;
}

/** The key of a license that was issued just now: here, and nowhere again. */
export function IssuedDialog({ license, license_key, onClose }: Props) {
  const { issue: say } = words;
  const [copied, setCopied] = useState('');
  const key = useRef<HTMLOutputElement>(null);
  async function copy() {
    setCopied('');
    try {
      await navigator.clipboard.writeText(license_key);
      setCopied(say.copied);
    } catch {
      getSelection()?.selectAllChildren(key.current!);
      setCopied(say.notCopied);
    }
  }
  return (
    <Dialog title={say.doneTitle} onClose={onClose}>
      <p>
        <output ref={key} class="mono key" aria-label={say.key}>
          {license_key}
        </output>
      </p>
      <p>{say.once}</p>
      <p role="status">{copied}</p>
      <div class="actions">
        <Button kind="primary" onClick={() => void copy()}>
          {say.copy}
        </Button>
        <Button
          onClick={() => {
            onClose();
            goTo('license', license.id);
          }}
        >
          {say.open}
        </Button>
        <Button kind="link" onClick={onClose}>
          {words.close}
        </Button>
      </div>
    </Dialog>
  );
}
