import type { ComponentChildren, InputHTMLAttributes, TextareaHTMLAttributes } from 'preact';
import { useContext, useId } from 'preact/hooks';
import { IsFormBusy } from './form.js';

interface Props {
  readonly label: string;
  readonly name: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly hint?: ComponentChildren;
  /** The message about an error in the value, if there is one. */
  readonly error?: string | undefined;
  /** More attributes of the input, such as `autocomplete`. */
  readonly input?: InputHTMLAttributes<HTMLInputElement>;
  /** If given, the field is a textarea with these attributes. */
  readonly area?: TextareaHTMLAttributes<HTMLTextAreaElement>;
}

/** A labelled field. Screen readers read its hint and error with it. */
export function Field({ label, name, value, onValue, hint, error, input, area }: Props) {
  const id = useId();
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ');
  const common = {
    id,
    name,
    value,
    readOnly: useContext(IsFormBusy),
    'aria-describedby': described || undefined,
    'aria-invalid': error ? true : undefined,
    onInput: (event: Event) => onValue((event.currentTarget as HTMLInputElement).value),
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {area ? <textarea rows={3} {...area} {...common} /> : <input type="text" {...input} {...common} />}
      {error && (
        <p class="error" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  );
}
