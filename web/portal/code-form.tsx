import { useRef, useState } from 'preact/hooks';
import { useAction } from '../shared/action.js';
import { focusFirstError, focusSoon } from '../shared/announcer.js';
import { Button } from '../shared/button.js';
import { Form } from '../shared/form.js';
import { Notice } from '../shared/notice.js';
import { CodeEntry } from './code-entry.js';
import { EmailField, emailError } from './email-field.js';
import { explain, wrongMembers } from './explain.js';
import type { FormProps } from './key-form.js';
import { mailCode } from './portal-api.js';
import { messages } from './messages.js';

const texts = messages.signIn;

/** Signs in by a code that is mailed: first the address, then the code. */
export function CodeForm({ email, onEmail, onSignedIn, lead, extra }: FormProps) {
  const place = useRef<HTMLDivElement>(null);
  const form = useRef<HTMLFormElement>(null);
  const [isMailed, setIsMailed] = useState(false);
  const [wrong, setWrong] = useState<string>();
  const tell = (found: string | undefined) => {
    setWrong(found);
    focusFirstError(form.current!);
  };
  const { busy, error, run } = useAction((error) => {
    if (wrongMembers(error).length === 0) return explain(error);
    tell(texts.wrongEmail);
    return '';
  });
  const moveTo = (isNext: boolean) => {
    setIsMailed(isNext);
    focusSoon(place.current!, 'input');
  };
  const mail = async () => {
    tell(emailError(email));
    if (emailError(email)) return;
    await run(async () => {
      await mailCode(email.trim());
      moveTo(true);
    });
  };
  return (
    <div ref={place}>
      {isMailed ? (
        <CodeEntry
          email={email.trim()}
          submit={texts.signIn}
          onSignedIn={onSignedIn}
          extra={
            <>
              <Button kind="link" onClick={() => moveTo(false)}>
                {texts.otherAddress}
              </Button>
              {extra}
            </>
          }
        />
      ) : (
        <Form element={form} onSubmit={mail}>
          <p>{lead}</p>
          <EmailField email={email} onEmail={onEmail} error={wrong} />
          {error && <Notice kind="danger">{error}</Notice>}
          <div class="actions">
            <Button kind="primary" type="submit" busy={busy}>
              {texts.mailCode}
            </Button>
            {extra}
          </div>
        </Form>
      )}
    </div>
  );
}
