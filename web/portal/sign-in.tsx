import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { focusSoon } from '../shared/notices/announcer.js';
import { OnDemandButton } from './on-demand-button.js';
import { KeyForm } from './key-form.js';
import { onDemand } from './load-on-demand.js';
import { messages } from './messages.js';

interface Props {
  /** The address and the key that are already filled in. */
  readonly email?: string | undefined;
  readonly licenseKey?: string | undefined;
  /** Whether the form for a code is shown first. The caller must have loaded on-demand.ts before. */
  readonly byCode?: boolean;
  /** Whether the button to the other form is left out. Together with `byCode`, only a sign-in by code is offered. */
  readonly codeOnly?: boolean;
  /** The text that says what a mailed code is used for. */
  readonly codeLead?: string;
  readonly onSignedIn: () => Promise<void>;
  /** A further button beside the submit button, or in the line below it. */
  readonly extra?: ComponentChildren;
}

/** Signs in by license key or by mailed code. The typed address is kept if the holder switches between the two forms. */
export function SignIn({
  email: initialEmail = '',
  licenseKey: initialKey = '',
  byCode = false,
  codeOnly = false,
  codeLead = messages.signIn.lostLead,
  onSignedIn,
  extra,
}: Props) {
  const [email, setEmail] = useState(initialEmail);
  const [licenseKey, setLicenseKey] = useState(initialKey);
  const [method, setMethod] = useState<'key' | 'code'>(byCode ? 'code' : 'key');
  const otherMethod = method === 'key' ? 'code' : 'key';
  const container = useRef<HTMLDivElement>(null);
  const switchMethod = () => {
    setMethod(otherMethod);
    focusSoon(container.current!, 'input');
  };
  const Form = method === 'key' ? KeyForm : onDemand.CodeForm;
  return (
    <div ref={container}>
      <Form
        email={email}
        onEmail={setEmail}
        licenseKey={licenseKey}
        onLicenseKey={setLicenseKey}
        onSignedIn={onSignedIn}
        lead={codeLead}
        extra={
          <>
            {!codeOnly && (
              <OnDemandButton kind="link" onLoaded={switchMethod}>
                {method === 'key' ? messages.signIn.lostKey : messages.signIn.haveKey}
              </OnDemandButton>
            )}
            {extra}
          </>
        }
      />
    </div>
  );
}
