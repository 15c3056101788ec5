import { useState } from 'preact/hooks';
import { useAction } from '../shared/action.js';
import { focusSoon } from '../shared/announcer.js';
import { Button } from '../shared/button.js';
import { Notice } from '../shared/notice.js';
import type { HolderLicense } from '../shared/api-types.js';
import { CodeEntry } from './code-entry.js';
import { explain } from './explain.js';
import { freePlaces } from './holder.js';
import { messages } from './messages.js';
import { mailCode, signInByCode } from './portal-api.js';

const texts = messages.freeAPlace;

interface Props {
  /** The hint in the URL with which the application opened the page. */
  readonly hint: string;
  readonly onSignedIn: () => Promise<void>;
  /** Called by the button that leads to the usual sign-in. */
  readonly onOther: () => void;
}

/**
 * Signs in a holder whose application opened the page because the machine limit refused an activation. The service knows the
 * address from the hint, so the holder need not type it.
 */
export function SignInToFreeAPlace({ hint, onSignedIn, onOther }: Props) {
  const [sentTo, setSentTo] = useState<string>();
  const { busy, error, run } = useAction(explain);
  const mail = () => mailCode({ hint });
  const other = (
    <Button kind="link" onClick={onOther}>
      {texts.other}
    </Button>
  );
  if (sentTo !== undefined) {
    return (
      <CodeEntry
        sentTo={sentTo}
        lead={texts.codeMailed}
        submit={texts.show}
        mail={mail}
        signIn={(code) => signInByCode({ code })}
        onSignedIn={onSignedIn}
        extra={other}
      />
    );
  }
  const start = () =>
    run(async () => {
      setSentTo((await mail()).sent_to);
      focusSoon(document.body, '[name="code"]');
    });
  return (
    <>
      <p>{texts.codeFirst}</p>
      {error && <Notice kind="danger">{error}</Notice>}
      <div class="actions">
        <Button kind="primary" busy={busy} onClick={() => void start()}>
          {messages.signIn.mailCode}
        </Button>
        {other}
      </div>
    </>
  );
}

/** Says what remains to be done, so that the refused machine can be activated on this license. */
export function WaitingMachine({ license }: { license: HolderLicense }) {
  const isFree = freePlaces(license) > 0;
  return (
    <div role="status">
      <Notice kind={isFree ? 'good' : 'info'}>
        <p>{isFree ? texts.free : license.self_releases_left > 0 ? texts.releaseOne : texts.askSupport}</p>
      </Notice>
    </div>
  );
}
