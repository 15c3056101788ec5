import { Field } from '../shared/forms/field.js';
import { messages } from './messages.js';

interface Props {
  readonly email: string;
  readonly onEmail: (email: string) => void;
  readonly error: string | undefined;
}

export function EmailField({ email, onEmail, error }: Props) {
  return (
    <Field
      label={messages.signIn.email}
      name="email"
      hint={messages.signIn.emailHint}
      value={email}
      onValue={onEmail}
      error={error}
      input={{ type: 'email', autocomplete: 'email', spellcheck: false, autocapitalize: 'none' }}
    />
  );
}

/** Returns a message if an address is missing or obviously wrong. The service validates it in full. */
export function emailError(email: string): string | undefined {
  if (email.trim() === '') return messages.signIn.missingEmail;
  return /\S@\S/.test(email) ? undefined : messages.signIn.wrongEmail;
}
