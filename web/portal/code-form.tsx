import { useEffect, useRef, useState } from 'preact/hooks';
import { useAction } from '../shared/action.js';
import { focusFirstError, focusSoon } from '../shared/announcer.js';
import { Button } from '../shared/button.js';
import { Field } from '../shared/field.js';
import { fill, UntrustedText } from '../shared/text.js';
import { Form } from '../shared/form.js';
import { Notice } from '../shared/notice.js';
import { EmailField, emailError } from './email-field.js';
import { explain, wrongMembers } from './explain.js';
import type { FormProps } from './key-form.js';
import { mailCode, signInByCode } from './portal-api.js';
import { messages } from './messages.js';

/** Signs in by a code that is mailed: first the address, then the code. */
export function CodeForm({ email, onEmail, onSignedIn, lead, extra }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  const [mailed, setMailed] = useState(false);
  const [code, setCode] = useState('');
  const [wrong, setWrong] = useState<string>();
  const { busy, error, run } = useAction((error) => {
    if (wrongMembers(error).length === 0) return explain(error);
    tell(mailed ? messages.signIn.wrongCode : messages.signIn.wrongEmail);
    return '';
  });
  const tell = (found: string | undefined) => {
    setWrong(found);
    focusFirstError(form.current!);
  };

  const mail = async () => {
    tell(emailError(email));
    if (emailError(email)) return;
    await run(async () => {
      await mailCode(email.trim());
      setCode('');
      setMailed(true);
      focusSoon(form.current!, 'input');
    });
  };
  const changeAddress = () => {
    setMailed(false);
    setWrong(undefined);
    focusSoon(form.current!, 'input');
  };
  // A code may be typed in groups, such as 4013-4555.
  const digits = code.replaceAll(/[\s\p{P}]/gu, '');
  const signIn = async () => {
    const found = digits.length === 8 ? undefined : messages.signIn.wrongCode;
    tell(found);
    if (found) return;
    await run(async () => {
      await signInByCode(email.trim(), digits);
      await onSignedIn();
    });
  };
  useEffect(() => {
    // The last digit submits the code.
    if (mailed && /^\d{8}$/.test(digits)) void signIn();
  }, [digits]);
  return (
    <Form element={form} onSubmit={mailed ? signIn : mail}>
      {mailed ? (
        <>
          <p role="status">
            {fill(messages.signIn.codeMailed, { email: <UntrustedText text={email.trim()} /> })}
          </p>
          <Field
            label={messages.signIn.code}
            name="code"
            hint={messages.signIn.codeHint}
            value={code}
            onValue={setCode}
            error={wrong}
            input={{
              class: 'mono code',
              inputMode: 'numeric',
              autocomplete: 'one-time-code',
              spellcheck: false,
            }}
          />
        </>
      ) : (
        <>
          <p>{lead}</p>
          <EmailField email={email} onEmail={onEmail} error={wrong} />
        </>
      )}
      {error && <Notice kind="danger">{error}</Notice>}
      <div class="actions">
        <Button kind="primary" type="submit" busy={busy}>
          {mailed ? messages.signIn.signIn : messages.signIn.mailCode}
        </Button>
        {mailed && (
          <Button kind="link" onClick={() => void mail()}>
            {messages.signIn.otherCode}
          </Button>
        )}
        {mailed && (
          <Button kind="link" onClick={changeAddress}>
            {messages.signIn.otherAddress}
          </Button>
        )}
        {extra}
      </div>
    </Form>
  );
}
