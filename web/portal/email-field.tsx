import { Field } from '../shared/forms/field.js';
import { messages } from './messages.js';

/** The name of an error message in `messages.signIn`. The forms keep the name and not the text, whose language can change. */
export type FieldError = 'missingEmail' | 'wrongEmail' | 'missingKey' | 'wrongKey' | 'mistypedKey';

interface Props {
  readonly email: string;
  readonly onEmail: (email: string) => void;
  readonly error: FieldError | undefined;
}

export function EmailField({ email, onEmail, error }: Props) {
  return (
    <Field
      label={messages.signIn.email}
      name="email"
      hint={messages.signIn.emailHint}
      value={email}
      onValue={onEmail}
      error={error && messages.signIn[error]}
      input={{ type: 'email', autocomplete: 'email', spellcheck: false, autocapitalize: 'none' }}
    />
  );
}

/** Returns an error if an address is missing or obviously wrong. The service validates it in full. */
export function emailError(email: string): FieldError | undefined {
  if (email.trim() === '') return 'missingEmail';
  return /\S@\S/.test(email) ? undefined : 'wrongEmail';
}
