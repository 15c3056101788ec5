import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { CODE_LIFETIME_MINUTES } from '../../src/fields/code-lifetime.js';
import { readSignInCode } from '../../src/keys/typed-text.js';
import { useAction } from '../shared/forms/action.js';
import { announce, focusFirstError, focusSoon } from '../shared/notices/announcer.js';
import { Button } from '../shared/forms/button.js';
import { Field } from '../shared/forms/field.js';
import { Form } from '../shared/forms/form.js';
import { Notice } from '../shared/notices/notice.js';
import { fill, UntrustedText } from '../shared/texts/text.js';
import { toast } from '../shared/notices/toast.js';
import { explain, wrongMembers } from './explain.js';
import { forgetForm, kept } from './kept-form.js';
import { messages } from './messages.js';

interface Props {
  /** The address to which a code was mailed, possibly shortened as in `a…@example.com`. */
  readonly sentTo: string;
  /** The text above the field, which says that a code was mailed to `{email}`. */
  readonly lead?: string;
  readonly submit: string;
  /**
   * The typed address. If it is given, the form is shown again after a reload: a person reads the mail in another application,
   * and a telephone then may have no memory for this page.
   */
  readonly keptEmail?: string;
  /** Mails another code. */
  readonly mail: () => Promise<unknown>;
  readonly signIn: (code: string) => Promise<unknown>;
  readonly onSignedIn: () => Promise<void>;
  /** Further buttons in the line below the submit button. */
  readonly extra: ComponentChildren;
  /** Called at the first render, with the first character of the code, and when the field is empty again. */
  readonly onFilled?: (isFilled: boolean) => void;
}

/** A form that signs in with a mailed code. */
export function CodeEntry({
  sentTo,
  lead = messages.signIn.codeMailed,
  submit,
  keptEmail,
  mail,
  signIn,
  onSignedIn,
  extra,
  onFilled,
}: Props) {
  const form = useRef<HTMLFormElement>(null);
  const [code, setCode] = useState('');
  const [isWrong, setIsWrong] = useState(false);
  // A code works only once, so a retry after a failure of `onSignedIn` does not send it again.
  const isSignedIn = useRef(false);
  const showError = (isNowWrong: boolean) => {
    setIsWrong(isNowWrong);
    focusFirstError(form.current!);
  };
  const { busy, error, run } = useAction((error) => {
    if (!wrongMembers(error).includes('code')) return explain(error);
    showError(true);
    return '';
  });
  const isFilled = code !== '';
  useLayoutEffect(() => onFilled?.(isFilled), [isFilled]);
  const digits = readSignInCode(code);
  const submitCode = async () => {
    showError(digits === null);
    if (digits === null) return;
    await run(async () => {
      if (!isSignedIn.current) await signIn(digits);
      isSignedIn.current = true;
      await onSignedIn();
    });
  };
  const keep = (until = Date.now() + CODE_LIFETIME_MINUTES * 60_000) =>
    keptEmail && history.replaceState({ email: keptEmail, sent_to: sentTo, until }, '');
  const mailAnotherCode = () =>
    run(async () => {
      await mail();
      keep();
      setIsWrong(false);
      isSignedIn.current = false;
      setCode('');
      focusSoon(form.current!, 'input');
      toast(messages.signIn.otherCodeMailed);
    });
  // Before the next frame, because a person may reload the page or leave it at once.
  useLayoutEffect(() => {
    // After a reload, the code is as old as before.
    keep(kept.until! > Date.now() ? kept.until : undefined);
    return () => void (keptEmail && forgetForm());
  }, []);
  useEffect(() => {
    // Screen readers would not announce the text, because it appears together with its element.
    announce(form.current!.querySelector('p')!.textContent);
  }, []);
  useEffect(() => {
    // The last digit submits the code.
    if (digits !== null) void submitCode();
  }, [digits]);
  return (
    <Form formRef={form} busy={busy} onSubmit={submitCode}>
      <p>{fill(lead, { email: <UntrustedText text={sentTo} /> })}</p>
      <Field
        label={messages.signIn.code}
        name="code"
        hint={messages.signIn.codeHint}
        value={code}
        onValue={setCode}
        error={isWrong ? messages.signIn.wrongCode : undefined}
        input={{
          class: 'mono code',
          inputMode: 'numeric',
          autocomplete: 'one-time-code',
          autofocus: true,
          spellcheck: false,
        }}
      />
      {error && <Notice kind="danger">{error}</Notice>}
      <div class="actions">
        <Button kind="primary" type="submit">
          {submit}
        </Button>
      </div>
      <div class="actions small">
        <Button kind="link" onClick={() => void mailAnotherCode()}>
          {messages.signIn.otherCode}
        </Button>
        {extra}
      </div>
    </Form>
  );
}
