import { useState } from 'preact/hooks';
import { Field } from '../../shared/field.js';
import { messages } from '../messages.js';
import { memberErrors } from './problem-text.js';

const MAX_LENGTH = 500;

interface Props {
  readonly reason: Reason;
  /** The usual ones, a click away. */
  readonly usual?: readonly string[];
  readonly hint?: string;
}

export type Reason = ReturnType<typeof useReason>;

/** Why: every write of staff says so. `error` is what the service said of the last try. */
export function useReason(error: unknown) {
  const [value, setValue] = useState('');
  const [shown, setShown] = useState('');
  return {
    value,
    error: shown || memberErrors(error).reason,
    set: (text: string) => {
      setValue(text);
      setShown('');
    },
    isValid: () => {
      const wrong =
        value.trim() === '' ? messages.reason.missing : value.includes('@') ? messages.reason.email : '';
      setShown(wrong);
      return wrong === '';
    },
  };
}

export function ReasonField({ reason, usual = [], hint = messages.reason.hint }: Props) {
  return (
    <div class="reason">
      {usual.length > 0 && (
        <div class="usual" role="group" aria-label={messages.reason.usual}>
          {usual.map((each) => (
            <button
              key={each}
              type="button"
              class="choice"
              aria-pressed={reason.value === each}
              onClick={() => reason.set(each)}
            >
              {each}
            </button>
          ))}
        </div>
      )}
      <Field
        label={messages.reason.label}
        name="reason"
        value={reason.value}
        onValue={reason.set}
        hint={hint}
        error={reason.error}
        area={{ maxLength: MAX_LENGTH, rows: 2, autocomplete: 'off' }}
      />
    </div>
  );
}
