import { useRef, useState } from 'preact/hooks';
import { ApiError } from '../shared/api/api.js';
import { useAction } from '../shared/forms/action.js';
import { focusFirstError } from '../shared/notices/announcer.js';
import { Button } from '../shared/forms/button.js';
import { Field } from '../shared/forms/field.js';
import { Form } from '../shared/forms/form.js';
import { Notice } from '../shared/notices/notice.js';
import { EmailField, emailError, type FieldError } from './email-field.js';
import { explain, wrongMembers } from './explain.js';
import type { FormProps } from './form-props.js';
import { onDemand, preload } from './load-on-demand.js';
import { signInByKey } from './portal-api.js';
import { messages } from './messages.js';

interface FieldErrors {
  readonly email?: FieldError | undefined;
  readonly key?: FieldError | undefined;
}

/** Signs in by e-mail address and license key. */
export function KeyForm({ email, onEmail, licenseKey, onLicenseKey, onSignedIn, extra }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  const [errors, setErrors] = useState<FieldErrors>({});
  const { busy, error, run } = useAction((error) => {
    if (error instanceof ApiError && error.code === 'license_not_found' && onDemand?.isMistyped(licenseKey)) {
      showErrors({ key: 'mistypedKey' });
      return '';
    }
    const names = wrongMembers(error);
    if (names.length === 0) return explain(error);
    showErrors({
      email: names.includes('email') ? 'wrongEmail' : undefined,
      key: names.includes('license_key') ? 'wrongKey' : undefined,
    });
    return '';
  });
  const showErrors = (newErrors: FieldErrors) => {
    setErrors(newErrors);
    focusFirstError(form.current!);
  };
  const submit = async () => {
    const key = licenseKey.trim() === '' ? 'missingKey' : undefined;
    const newErrors: FieldErrors = { email: emailError(email), key };
    showErrors(newErrors);
    if (newErrors.email || newErrors.key) return;
    await run(async () => {
      await signInByKey(email.trim(), licenseKey.trim()).catch(async (error: unknown) => {
        // The error is shown once `preload` has loaded `isMistyped`, or after two seconds.
        await Promise.race([preload(), new Promise((resolve) => setTimeout(resolve, 2_000))]);
        throw error;
      });
      await onSignedIn();
    });
  };
  return (
    <Form formRef={form} busy={busy} onSubmit={submit}>
      <EmailField email={email} onEmail={onEmail} error={errors.email} />
      <Field
        label={messages.signIn.key}
        name="license_key"
        hint={messages.signIn.keyHint}
        value={licenseKey}
        onValue={onLicenseKey}
        error={errors.key && messages.signIn[errors.key]}
        input={{ class: 'mono', autocomplete: 'off', spellcheck: false, autocapitalize: 'characters' }}
      />
      {error && <Notice kind="danger">{error}</Notice>}
      <div class="actions">
        <Button kind="primary" type="submit">
          {messages.signIn.submit}
        </Button>
        {extra}
      </div>
    </Form>
  );
}
