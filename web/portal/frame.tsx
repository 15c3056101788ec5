import { isSignedOut } from '../shared/api/api.js';
import { useAction } from '../shared/forms/action.js';
import { Button } from '../shared/forms/button.js';
import { fill, UntrustedText } from '../shared/texts/text.js';
import { toastError } from '../shared/notices/toast.js';
import { BrandFooter, BrandMark } from '../shared/page/brand.js';
import { LanguageSwitch } from '../shared/page/language-switch.js';
import { explain } from './explain.js';
import type { HolderLicensesAnswer } from '../../src/http/responses/api-types.js';
import { signOut } from './portal-api.js';
import { messages } from './messages.js';

interface Props {
  readonly holder: HolderLicensesAnswer | null;
  readonly onSignedOut: () => void;
}

export function Header({ holder, onSignedOut }: Props) {
  return (
    <>
      <BrandMark page={messages.name} />
      {holder && <SignedInAs email={holder.email} onSignedOut={onSignedOut} />}
    </>
  );
}

function SignedInAs({ email, onSignedOut }: { email: string; onSignedOut: () => void }) {
  const { busy, run } = useAction((error) => toastError(explain(error)));
  const handleSignOut = () =>
    run(async () => {
      await signOut().catch((error: unknown) => {
        // The session has ended already, so the person is signed out.
        if (!isSignedOut(error)) throw error;
      });
      onSignedOut();
    });
  return (
    <div class="who">
      <span class="quiet">{fill(messages.session.as, { email: <UntrustedText text={email} /> })}</span>
      <Button kind="link" busy={busy} onClick={() => void handleSignOut()}>
        {messages.session.signOut}
      </Button>
    </div>
  );
}

export function Footer() {
  return (
    <>
      <BrandFooter />
      <p>
        <a href="../privacy/">{messages.privacy}</a>
      </p>
      <LanguageSwitch />
    </>
  );
}
