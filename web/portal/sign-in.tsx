import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { focusSoon } from '../shared/announcer.js';
import { Button } from '../shared/button.js';
import { CodeForm } from './code-form.js';
import { KeyForm } from './key-form.js';
import { messages } from './messages.js';

interface Props {
  /** Typed for them already. */
  readonly email?: string;
  readonly byCode?: boolean;
  /** The other way would not do. */
  readonly codeOnly?: boolean;
  /** What a code is good for here. */
  readonly codeLead?: string;
  readonly onSignedIn: () => Promise<void>;
  /** A second choice beside the submit button. */
  readonly extra?: ComponentChildren;
}

/** Two ways in; the address that was typed for one is there for the other. */
export function SignIn({
  email: known = '',
  byCode = false,
  codeOnly = false,
  codeLead = messages.signIn.lostLead,
  onSignedIn,
  extra,
}: Props) {
  const [email, setEmail] = useState(known);
  const [licenseKey, setLicenseKey] = useState('');
  const [way, setWay] = useState<'key' | 'code'>(byCode ? 'code' : 'key');
  const other = way === 'key' ? 'code' : 'key';
  const place = useRef<HTMLDivElement>(null);
  const change = () => {
    setWay(other);
    focusSoon(place.current!, 'input');
  };
  const Form = way === 'key' ? KeyForm : CodeForm;
  return (
    <div ref={place}>
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
              <Button kind="link" onClick={change}>
                {way === 'key' ? messages.signIn.lostKey : messages.signIn.haveKey}
              </Button>
            )}
            {extra}
          </>
        }
      />
    </div>
  );
}
