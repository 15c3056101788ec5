import { useContext, useId } from 'preact/hooks';
import { IsFormBusy } from './form.js';

interface Props<Value extends string> {
  readonly label: string;
  readonly name: string;
  readonly value: Value;
  /** The label of each value. */
  readonly options: Readonly<Record<Value, string>>;
  readonly hint?: string;
  readonly onValue: (value: Value) => void;
}

/** A field in which one of a few values is selected. */
export function Choice<Value extends string>({ label, name, value, options, hint, onValue }: Props<Value>) {
  const id = useId();
  const isFormBusy = useContext(IsFormBusy);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {hint && (
        // A hint may depend on the value, so a change of it is announced.
        <p class="hint" id={`${id}-hint`} aria-live="polite">
          {hint}
        </p>
      )}
      <select
        id={id}
        name={name}
        value={value}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onChange={(event) => onValue(event.currentTarget.value as Value)}
      >
        {(Object.keys(options) as Value[]).map((each) => (
          // A `select` cannot be read-only, and would lose the focus if it was disabled. So its other options are disabled.
          <option key={each} value={each} disabled={isFormBusy && each !== value}>
            {options[each]}
          </option>
        ))}
      </select>
    </div>
  );
}
