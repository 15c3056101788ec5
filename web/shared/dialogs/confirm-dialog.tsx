import type { ComponentChildren, InputHTMLAttributes, TextareaHTMLAttributes } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import { useAction } from '../forms/action.js';
import { focusFirstError } from '../notices/announcer.js';
import { Button } from '../forms/button.js';
import { Choice } from '../forms/choice.js';
import { Dialog } from './dialog.js';
import { Field } from '../forms/field.js';
import { Form, IsFormBusy } from '../forms/form.js';
import { isIncompleteDay } from '../forms/incomplete-day.js';
import { Notice } from '../notices/notice.js';
import { common } from '../texts/messages.js';

/** A field of a dialog: an input, a textarea or a choice. */
export interface DialogField {
  readonly label: string;
  readonly hint?: string | ((value: string) => string);
  /** The value until it is edited; empty by default. */
  readonly value?: string;
  /** With options, the field is a choice. */
  readonly options?: Readonly<Record<string, string>>;
  /** Values that can be entered with one click. */
  readonly suggestions?: { readonly label: string; readonly values: readonly string[] };
  readonly input?: InputHTMLAttributes<HTMLInputElement>;
  /** If given, the field is a textarea with these attributes. */
  readonly area?: TextareaHTMLAttributes<HTMLTextAreaElement>;
  /** @param isIncomplete whether the value is empty because a day is typed only in part @returns a message if it cannot be sent */
  readonly check?: (value: string, isIncomplete: boolean) => string | false;
}

/** The value of each field, without spaces at either end. */
type Values<Name extends string> = Readonly<Record<Name, string>>;

/** What the dialog shows after a failure. */
interface Explanation {
  readonly text: string;
  /** What is wrong with a field, by its name. */
  readonly fields?: Readonly<Record<string, string | undefined>>;
}

export interface ConfirmDialogProps<Name extends string> {
  readonly title: ComponentChildren;
  readonly children?: ComponentChildren;
  readonly fields?: Readonly<{ [name in Name]?: DialogField }>;
  readonly submit: string;
  readonly cancel: string;
  /** Whether the action is harmful: the submit button is then of the kind `danger`. */
  readonly danger?: boolean | ((values: Values<Name>) => boolean);
  /** Renders what is shown below the fields. It may depend on their values. */
  readonly preview?: (values: Values<Name>) => ComponentChildren;
  /** @returns a message if the values together cannot be sent */
  readonly check?: (values: Values<Name>) => string | false;
  /** Turns what `onConfirm` threw into texts. */
  readonly explain: (error: unknown) => Explanation;
  readonly onConfirm: (values: Values<Name>) => Promise<unknown>;
  readonly onClose: () => void;
}

/**
 * Asks for the confirmation of an action, and for the values that it needs. After a failure the dialog stays open with the
 * typed values. It cannot be closed while the action runs, so that a closed dialog never hides a result.
 */
export function ConfirmDialog<Name extends string = never>(props: ConfirmDialogProps<Name>) {
  const { title, children, submit, cancel, danger = false, preview, check, explain } = props;
  const { onConfirm, onClose } = props;
  const fields = Object.entries(props.fields ?? {}) as [Name, DialogField][];
  const form = useRef<HTMLFormElement>(null);
  const { busy, error, run } = useAction(explain);
  const [edited, setEdited] = useState<Readonly<Record<string, string>>>({});
  const [fieldErrors, setFieldErrors] = useState<Readonly<Record<string, string>>>({});
  const [formError, setFormError] = useState('');
  const shownValues = valuesOf(fields, (name, { value = '' }) => edited[name] ?? value);
  const values = valuesOf(fields, (name) => shownValues[name].trim());
  async function confirm() {
    const newFieldErrors = valuesOf(
      fields,
      (name, field) => field.check?.(values[name], isIncompleteDay(form.current!, name)) || '',
    );
    const newFormError = check?.(values) || '';
    setFieldErrors(newFieldErrors);
    setFormError(newFormError);
    if (!newFormError && Object.values(newFieldErrors).every((text) => text === ''))
      await run(() => onConfirm(values));
    if (form.current) focusFirstError(form.current);
  }
  // In a dialog that is higher than the window, the error and the buttons below it would be out of sight.
  useEffect(() => {
    if (error?.text) form.current?.lastElementChild?.scrollIntoView({ block: 'nearest' });
  }, [error]);
  const edit = (name: Name, value: string) => {
    const { [name]: _, ...others } = edited;
    const isUnchanged = value === (props.fields?.[name]?.value ?? '');
    setEdited(isUnchanged ? others : { ...others, [name]: value });
    setFieldErrors({ ...fieldErrors, [name]: '' });
    setFormError('');
  };
  const isFilled = fields.some(([name, { value = '' }]) => shownValues[name] !== value);
  const isDanger = typeof danger === 'function' ? danger(values) : danger;
  return (
    <Dialog title={title} warning={isFilled && common.discard} onClose={onClose}>
      <Form formRef={form} busy={busy} onSubmit={confirm}>
        {children}
        {fields.map(([name, field], index) => (
          <DialogFieldInput
            key={name}
            name={name}
            field={field}
            isFirst={index === 0}
            value={shownValues[name]}
            error={fieldErrors[name] || error?.fields?.[name]}
            onValue={(value) => edit(name, value)}
          />
        ))}
        {preview?.(values)}
        {formError && (
          <p class="error" role="alert">
            {formError}
          </p>
        )}
        {error?.text && <Notice kind="danger">{error.text}</Notice>}
        <div class="actions">
          <Button type="submit" kind={isDanger ? 'danger' : 'primary'}>
            {submit}
          </Button>
          {/* Without fields, the focus starts on the button that changes nothing, unless it is out of sight. */}
          <Button autofocus={fields.length === 0} onClick={onClose}>
            {cancel}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

function valuesOf<Name extends string>(
  fields: readonly [Name, DialogField][],
  valueOf: (name: Name, field: DialogField) => string,
): Values<Name> {
  return Object.fromEntries(fields.map(([name, field]) => [name, valueOf(name, field)])) as Values<Name>;
}

interface DialogFieldInputProps {
  readonly name: string;
  readonly field: DialogField;
  /** Whether this is the first field. If it has suggestions, the focus starts on the first of them. */
  readonly isFirst: boolean;
  readonly value: string;
  readonly error: string | undefined;
  readonly onValue: (value: string) => void;
}

function DialogFieldInput({ name, field, isFirst, value, error, onValue }: DialogFieldInputProps) {
  const { label, options, suggestions, input, area } = field;
  const isFormBusy = useContext(IsFormBusy);
  const hint = typeof field.hint === 'function' ? field.hint(value) : field.hint;
  const fieldProps = { label, name, value, hint, onValue };
  if (options) return <Choice {...fieldProps} options={options} />;
  return (
    <div>
      {suggestions && (
        <div class="suggestions" role="group" aria-label={suggestions.label}>
          {suggestions.values.map((each, index) => (
            <button
              key={each}
              type="button"
              autofocus={isFirst && index === 0}
              class="choice"
              aria-pressed={value === each}
              aria-disabled={isFormBusy}
              onClick={() => isFormBusy || onValue(each)}
            >
              {each}
            </button>
          ))}
        </div>
      )}
      <Field {...fieldProps} error={error} input={input} area={area} />
    </div>
  );
}
