import { Field } from '../../shared/field.js';
import { Choice } from '../parts/choice.js';
import type { OnExpiry } from '../types.js';
import { words } from '../words.js';

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
  const { change: say } = words;
  return (
    <>
      <Field
        label={say.machines}
        name="machines_allowed"
        value={terms.machines_allowed}
        onValue={(machines_allowed) => onTerms({ ...terms, machines_allowed })}
        hint={machinesHint}
        error={errors.machines_allowed}
        input={{ inputMode: 'numeric', autocomplete: 'off' }}
      />
      <Field
        label={say.expires}
        name="expires_at"
        value={terms.expires_at}
        onValue={(expires_at) => onTerms({ ...terms, expires_at })}
        hint={say.expiresHint}
        error={errors.expires_at}
        input={{ type: 'date' }}
      />
      <Choice
        label={say.onExpiry}
        name="on_expiry"
        value={terms.on_expiry}
        options={say.onExpiries}
        onValue={(on_expiry) => onTerms({ ...terms, on_expiry })}
      />
    </>
  );
}
