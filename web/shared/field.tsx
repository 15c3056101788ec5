import type { ComponentChildren, InputHTMLAttributes, TextareaHTMLAttributes } from 'preact';
import { useId } from 'preact/hooks';

interface Props {
  readonly label: string;
  readonly name: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly hint?: ComponentChildren;
  /** What is wrong with it, in words; none where nothing is. */
  readonly error?: string | undefined;
  /** More attributes of the input, such as `autocomplete`. */
  readonly input?: InputHTMLAttributes<HTMLInputElement>;
  /** Given, it is a text of several lines. */
  readonly area?: TextareaHTMLAttributes<HTMLTextAreaElement>;
}

/** A labelled field; hint and error are read out with it. */
export function Field({ label, name, value, onValue, hint, error, input, area }: Props) {
  const id = useId();
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ');
  const common = {
    id,
    name,
    value,
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
