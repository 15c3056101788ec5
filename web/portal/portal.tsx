import { useEffect, useRef, useState } from 'preact/hooks';
import { announce, moveFocus } from '../shared/notices/announcer.js';
import { isSignedOut, ServiceUnavailable } from '../shared/api/api.js';
import { setTitle } from '../shared/page/brand.js';
import { Button } from '../shared/forms/button.js';
import { Unavailable } from '../shared/notices/unavailable.js';
import { Loading } from '../shared/notices/loading.js';
import { useReconnection } from '../shared/api/connection.js';
import { common } from '../shared/texts/messages.js';
import { Page } from '../shared/page/page.js';
import { usePageFocus } from '../shared/page/page-focus.js';
import { toast } from '../shared/notices/toast.js';
import type { HolderLicensesAnswer } from '../../src/http/responses/api-types.js';
import { WaitingMachine, SignInToFreeAPlace } from './free-a-place.js';
import { Overview } from './overview.js';
import { readHolder } from './portal-api.js';
import { hasWaitingMachine, releaseHint } from './release-link.js';
import type { HolderSession } from './session.js';
import { SignIn } from './sign-in.js';
import { Header, Footer } from './frame.js';
import { forgetForm, kept } from './kept-form.js';
import { loadOnDemand, onDemand, preload } from './load-on-demand.js';
import { elementToFocus } from './this-machine.js';
import { messages } from './messages.js';

/**
 * Why a holder has to sign in again: the session has ended, or an action needs a sign-in by code, after which the
 * element with the id `focusAfterwards` gets the focus. `later`: the session has ended and no dialog is open, because
 * the holder closed it, because its file could not be loaded, or because a read in the background found that the session has ended.
 */
type SignInReason = 'ended' | 'later' | { readonly focusAfterwards: string };

type Stage = 'waiting' | 'offline' | 'unavailable' | 'failed' | 'signed-out' | HolderLicensesAnswer;

/**
 * The page, depending on whether the holder is signed in and whether the service can be reached. The file is long, because all
 * stages of the page share the session and the way back to it.
 */
export function Portal() {
  const [stage, setStage] = useState<Stage>('waiting');
  const [signInReason, setSignInReason] = useState<SignInReason | null>(null);
  // The element that gets the focus. Each change is a new object, so that the same element can be focused again.
  const [changed, setChanged] = useState<{ readonly id: string } | null>(null);
  // The hint of a refused activation, until the holder signs in or chooses another way to sign in.
  const [newestHint, setHint] = useState(releaseHint());
  // Also null once the hint is too old for `releaseHint`.
  const hint = newestHint === releaseHint() ? newestHint : null;
  const latestStage = useRef(stage);
  latestStage.current = stage;
  const newestReading = useRef({});
  const signedIn = typeof stage === 'object' ? stage : null;
  // The signed-in holder does not see the license of the hint: it belongs to another holder, or the holder signed in
  // with the key of another license.
  const isHintOfOther = hint !== null && signedIn !== null && !signedIn.licenses.some(hasWaitingMachine);
  const holder = isHintOfOther ? null : signedIn;

  const show = (next: Stage, changedId?: string) => {
    setStage(next);
    if (changedId) setChanged({ id: changedId });
  };
  const update: HolderSession['update'] = (change, changedId) => {
    const latest = latestStage.current;
    // Another holder may have signed in since the action began.
    if (typeof latest === 'object' && latest.email === signedIn?.email) show(change(latest), changedId);
  };
  /** @param fallback the id of the element that gets the focus if the load fails, or if `elementToFocus` returns none */
  const load = async (fallback?: string) => {
    setStage('waiting');
    const next = await readHolder().catch(failedStage);
    // The form for a code that was mailed before a reload is in this file. Without it, the sign-in begins again.
    if (kept.until) await preload();
    // Read again, because the `date` of the answer corrects the clock by which `releaseHint` decides whether the hint is too old.
    setHint(releaseHint());
    // The holder may have signed out meanwhile.
    if (latestStage.current === 'signed-out') return;
    show(next, (typeof next === 'object' && elementToFocus(next)) || fallback);
  };
  // The button that tries again disappears, and its focus with it.
  const retry = () => void load('headline');
  /** Reads the data of the signed-in holder again, in the background. Newer data and an open dialog stay as they are. */
  const reread = async () => {
    if (!holder) return;
    const reading = (newestReading.current = {});
    const found = await readHolder().catch((error: unknown) => isSignedOut(error) && 'later');
    if (!found || stage !== latestStage.current || document.querySelector('dialog[open]')) return;
    // The holder has returned once more meanwhile, and the data may have changed in between.
    if (reading !== newestReading.current) return;
    setSignInReason(found === 'later' ? found : null);
    if (found === 'later') {
      if (signInReason !== 'later') announce(messages.session.endedNotice);
      return;
    }
    const focused = document.activeElement;
    setStage(found);
    // The button that had the focus may have been removed together with its machine.
    requestAnimationFrame(() => focused?.isConnected || setChanged({ id: 'headline' }));
  };
  const handleSignedIn = async () => {
    const found = await readHolder();
    forgetForm();
    // A hint works for one sign-in, and is not needed after any other.
    setHint(null);
    // It is still set if the session had ended before a release link of another license was opened.
    setSignInReason(null);
    show(found, elementToFocus(found) ?? 'headline');
  };
  const isEnded = signInReason === 'ended';
  // The dialog may have been opened by the button of a notice, which was removed with its focus.
  const keepFocus = () =>
    requestAnimationFrame(() => document.activeElement === document.body && setChanged({ id: 'headline' }));
  const handleSignedInAgain = async () => {
    show(
      await readHolder(),
      signInReason && typeof signInReason === 'object' ? signInReason.focusAfterwards : undefined,
    );
    setSignInReason(null);
    if (isEnded) keepFocus();
    toast(isEnded ? messages.session.signedInAgain : messages.session.signedInByCode);
  };
  const handleEnded = () => {
    // A request may also be refused after the holder has signed out.
    if (typeof latestStage.current === 'string') return;
    void loadOnDemand().then(
      () => setSignInReason('ended'),
      () => setSignInReason('later'),
    );
  };
  const closeSignIn = () => {
    setSignInReason(isEnded ? 'later' : null);
    keepFocus();
  };
  const handleSignedOut = () => {
    forgetForm();
    setSignInReason(null);
    show('signed-out', 'headline');
    toast(messages.session.signedOut);
  };

  useEffect(() => {
    void load();
    if (kept.isReload) toast(messages.updated);
    const readHint = () => {
      const current = releaseHint();
      setHint(current);
      // The licenses on the page may have been read before the refused activation.
      if (current !== null) void load();
    };
    addEventListener('hashchange', readHint);
    return () => removeEventListener('hashchange', readHint);
  }, []);
  useReconnection(() => (stage === 'offline' || stage === 'unavailable' ? retry() : void reread()));
  usePageFocus(() => void reread());
  useEffect(() => {
    if (changed) moveFocus(document.getElementById(changed.id));
  }, [changed]);

  return (
    <Page
      header={<Header holder={signedIn} onSignedOut={handleSignedOut} />}
      footer={stage !== 'waiting' && <Footer />}
    >
      {holder ? (
        <Overview
          holder={holder}
          isStale={signInReason === 'later'}
          update={update}
          onEnded={handleEnded}
          openSignInByCode={({ focusAfterwards }) => setSignInReason({ focusAfterwards })}
        />
      ) : (
        <SignedOutPage
          stage={typeof stage === 'object' ? 'signed-out' : stage}
          hint={hint}
          onRetry={retry}
          onSignedIn={handleSignedIn}
          onOther={() => {
            setHint(null);
            setChanged({ id: 'headline' });
          }}
        />
      )}
      {holder && signInReason && signInReason !== 'later' && (
        <onDemand.SignInAgain isSessionEnded={isEnded} onClose={closeSignIn}>
          <SignIn
            email={holder.email}
            byCode={!isEnded || holder.signed_in_by === 'code'}
            codeOnly={!isEnded}
            codeLead={messages.signIn.codeLead}
            onSignedIn={handleSignedInAgain}
            extra={
              <Button kind="link" onClick={closeSignIn}>
                {messages.session.notNow}
              </Button>
            }
          />
        </onDemand.SignInAgain>
      )}
    </Page>
  );
}

function failedStage(error: unknown): 'signed-out' | 'offline' | 'unavailable' | 'failed' {
  if (isSignedOut(error)) return 'signed-out';
  if (!(error instanceof ServiceUnavailable)) return 'failed';
  return error.isOffline ? 'offline' : 'unavailable';
}

interface SignedOutPageProps {
  readonly stage: Exclude<Stage, HolderLicensesAnswer>;
  /** The hint in the URL with which the application opened the page. */
  readonly hint: string | null;
  readonly onRetry: () => void;
  readonly onSignedIn: () => Promise<void>;
  readonly onOther: () => void;
}

/**
 * The page while no holder is signed in, while this is not known yet, or while a hint is for a license that is not
 * shown.
 */
function SignedOutPage({ stage, hint, onRetry, onSignedIn, onOther }: SignedOutPageProps) {
  const isToFreeAPlace = stage === 'signed-out' && hint !== null;
  const headline = isToFreeAPlace ? messages.freeAPlace.headline : messages.question;
  useEffect(() => setTitle(headline), [headline]);
  return (
    <>
      <h1 id="headline">{headline}</h1>
      {stage === 'waiting' && <Loading text={messages.waiting} />}
      {stage === 'offline' && (
        <Unavailable text={common.offline} isOffline retry={messages.retry} onRetry={onRetry} />
      )}
      {(stage === 'unavailable' || stage === 'failed') && (
        <Unavailable text={messages[stage]} retry={messages.retry} onRetry={onRetry} />
      )}
      {stage === 'signed-out' && (
        <>
          <p class="lead">{isToFreeAPlace ? messages.freeAPlace.lead : messages.questionLead}</p>
          {isToFreeAPlace && <WaitingMachine />}
          {isToFreeAPlace ? (
            <SignInToFreeAPlace key={hint} hint={hint} onSignedIn={onSignedIn} onOther={onOther} />
          ) : (
            <SignIn
              email={kept.email}
              licenseKey={kept.license_key}
              byCode={Boolean(kept.until && onDemand)}
              onSignedIn={onSignedIn}
            />
          )}
        </>
      )}
    </>
  );
}
