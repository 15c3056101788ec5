import { useState } from 'preact/hooks';
import { useAction } from '../shared/forms/action.js';
import { focusSoon } from '../shared/notices/announcer.js';
import { Button } from '../shared/forms/button.js';
import { Notice } from '../shared/notices/notice.js';
import type { HolderLicense } from '../../src/http/responses/api-types.js';
import { fill } from '../shared/texts/text.js';
import { loadOnDemand, onDemand, preload } from './load-on-demand.js';
import { explain, wrongMembers } from './explain.js';
import { MachineName } from './machine-name.js';
import { messages } from './messages.js';
import { mailCode, signInByCode } from './portal-api.js';
import { activationSinceHint, hasPlaceForWaitingMachine, waitingMachine } from './release-link.js';

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
  const { busy, error, run } = useAction((thrown) => ({
    text: explain(thrown),
    isHintRefused: wrongMembers(thrown).includes('hint'),
  }));
  const mail = () => mailCode({ hint });
  const other = (
    <Button kind={error?.isHintRefused ? 'primary' : 'link'} onClick={onOther}>
      {messages.freeAPlace.other}
    </Button>
  );
  if (sentTo !== undefined) {
    return (
      <onDemand.CodeEntry
        sentTo={sentTo}
        lead={messages.freeAPlace.codeMailed}
        submit={messages.freeAPlace.show}
        mail={mail}
        signIn={(code) => signInByCode({ code })}
        onSignedIn={onSignedIn}
        extra={other}
      />
    );
  }
  const start = () =>
    run(async () => {
      await loadOnDemand();
      setSentTo((await mail()).sent_to);
      focusSoon(document.body, '[name="code"]');
    });
  return (
    <>
      <p>{messages.freeAPlace.codeFirst}</p>
      {error && <Notice kind="danger">{error.text}</Notice>}
      <div class="actions">
        <Button
          kind={error?.isHintRefused ? 'plain' : 'primary'}
          busy={busy}
          onNear={() => void preload()}
          onClick={() => void start()}
        >
          {messages.signIn.mailCode}
        </Button>
        {other}
      </div>
    </>
  );
}

/** Names the machine that the application could not activate. */
export function WaitingMachine() {
  const machine = waitingMachine();
  if (!machine) return null;
  const parts = { machine: <MachineName activation={machine} />, version: machine.version };
  return <p>{fill(messages.freeAPlace.waiting, parts)}</p>;
}

const isReleaseRequested = ({ activations }: HolderLicense) =>
  activations.some(({ state, release_requested_at }) => state === 'active' && release_requested_at);

/**
 * Says what to do so that a place is free for the waiting machine, or that this machine is active now. Shows nothing while a place
 * is free for it, because the headline of the page then says so.
 */
export function NextStep({ license }: { license: HolderLicense }) {
  const activation = activationSinceHint(license);
  const next =
    license.self_releases_left > 0
      ? messages.freeAPlace.releaseOne
      : isReleaseRequested(license)
        ? messages.freeAPlace.asked
        : messages.freeAPlace.askSupport;
  return (
    <div role="status">
      {!hasPlaceForWaitingMachine(license) && (
        <Notice kind={activation ? 'good' : 'info'}>
          {!activation && <WaitingMachine />}
          <p>
            {activation
              ? fill(messages.freeAPlace.activated, { machine: <MachineName activation={activation} /> })
              : next}
          </p>
        </Notice>
      )}
    </div>
  );
}
