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
import { mailCode, signInByCode } from './portal-api.js';
import { messages } from './messages.js';

/** Signs in with a mailed code: a form for the address, and then one for the code. */
export function CodeForm({ email, onEmail, onSignedIn, lead, extra }: FormProps) {
  const container = useRef<HTMLDivElement>(null);
  const form = useRef<HTMLFormElement>(null);
  const [isMailed, setIsMailed] = useState(false);
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
  const showCodeEntry = (isShown: boolean) => {
    setIsMailed(isShown);
    focusSoon(container.current!, 'input');
  };
  const address = email.trim();
  const mail = async () => {
    showError(emailError(email));
    if (emailError(email)) return;
    await run(async () => {
      await mailCode({ email: address });
      showCodeEntry(true);
    });
  };
  return (
    <div ref={container}>
      {isMailed ? (
        <CodeEntry
          sentTo={address}
          submit={messages.signIn.signIn}
          mail={() => mailCode({ email: address })}
          signIn={(code) => signInByCode({ email: address, code })}
          onSignedIn={onSignedIn}
          extra={
            <>
              <Button kind="link" onClick={() => showCodeEntry(false)}>
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
