import { useRef, useState } from 'preact/hooks';
import { useAction } from '../shared/forms/action.js';
import { focusFirstError, focusSoon } from '../shared/notices/announcer.js';
import { Button } from '../shared/forms/button.js';
import { Form } from '../shared/forms/form.js';
import { Notice } from '../shared/notices/notice.js';
import { CodeEntry } from './code-entry.js';
import { EmailField, emailError, type FieldError } from './email-field.js';
import { explain, wrongMembers } from './explain.js';
import type { FormProps } from './form-props.js';
import { kept } from './kept-form.js';
import { mailCode, signInByCode } from './portal-api.js';
import { messages } from './messages.js';

/** Signs in with a mailed code: a form for the address, and then one for the code. */
export function CodeForm({ email, onEmail, onSignedIn, lead, extra }: FormProps) {
  const container = useRef<HTMLDivElement>(null);
  const form = useRef<HTMLFormElement>(null);
  // The address in the response, to which a code was mailed: the browser may have converted the domain of the typed one to ASCII.
  // After a reload, the form for the code is shown again until the code expires.
  const [sentTo, setSentTo] = useState(
    kept.email === email.trim() && kept.until! > Date.now() ? kept.sent_to : undefined,
  );
  const [fieldError, setFieldError] = useState<FieldError>();
  const showError = (newError: FieldError | undefined) => {
    setFieldError(newError);
    focusFirstError(form.current!);
  };
  const { busy, error, run } = useAction((error) => {
    if (wrongMembers(error).length === 0) return explain(error);
    showError('wrongEmail');
    return '';
  });
  /** @param address to which a code was mailed; undefined shows the form for an address */
  const showCodeEntry = (address: string | undefined) => {
    setSentTo(address);
    focusSoon(container.current!, 'input');
  };
  const address = email.trim();
  const mail = async () => {
    showError(emailError(email));
    if (emailError(email)) return;
    await run(async () => {
      showCodeEntry((await mailCode({ email: address })).sent_to);
    });
  };
  return (
    <div ref={container}>
      {sentTo !== undefined ? (
        <CodeEntry
          sentTo={sentTo}
          submit={messages.signIn.signIn}
          keptEmail={address}
          mail={() => mailCode({ email: address })}
          signIn={(code) => signInByCode({ email: address, code })}
          onSignedIn={onSignedIn}
          extra={
            <>
              <Button kind="link" onClick={() => showCodeEntry(undefined)}>
                {messages.signIn.otherAddress}
              </Button>
              {extra}
            </>
          }
        />
      ) : (
        <Form formRef={form} busy={busy} onSubmit={mail}>
          <p>{lead}</p>
          <EmailField email={email} onEmail={onEmail} error={fieldError} />
          {error && <Notice kind="danger">{error}</Notice>}
          <div class="actions">
            <Button kind="primary" type="submit">
              {messages.signIn.mailCode}
            </Button>
            {extra}
          </div>
        </Form>
      )}
    </div>
  );
}
