import { Field } from '../../shared/field.js';
import { Choice } from '../parts/choice.js';
import type { OnExpiry } from '../types.js';
import { messages } from '../messages.js';

/** The terms of a license as they are typed. `expires_at` is a day, or empty where it never expires. */
export interface Terms {
  readonly machines_allowed: string;
  readonly expires_at: string;
  readonly on_expiry: OnExpiry;
}

interface Props<T extends Terms> {
  readonly terms: T;
  readonly onTerms: (terms: T) => void;
  readonly errors: Readonly<Record<string, string | undefined>>;
  readonly machinesHint?: string;
}

export function TermsFields<T extends Terms>({ terms, onTerms, errors, machinesHint }: Props<T>) {
  const { change: texts } = messages;
  return (
    <>
      <Field
        label={texts.machines}
        name="machines_allowed"
        value={terms.machines_allowed}
        onValue={(machines_allowed) => onTerms({ ...terms, machines_allowed })}
        hint={machinesHint}
        error={errors.machines_allowed}
        input={{ inputMode: 'numeric', autocomplete: 'off' }}
      />
      <Field
        label={texts.expires}
        name="expires_at"
        value={terms.expires_at}
        onValue={(expires_at) => onTerms({ ...terms, expires_at })}
        hint={texts.expiresHint}
        error={errors.expires_at}
        input={{ type: 'date' }}
      />
      <Choice
        label={texts.onExpiry}
        name="on_expiry"
        value={terms.on_expiry}
        options={texts.onExpiries}
        onValue={(on_expiry) => onTerms({ ...terms, on_expiry })}
      />
    </>
  );
}
