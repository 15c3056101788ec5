import type { DialogField } from '../../shared/dialogs/confirm-dialog.js';
import { containsEmail } from '../../../src/fields/contains-email.js';
import { messages } from '../messages.js';

const REASON_MAX_LENGTH = 500;
const texts = messages.reason;

interface ReasonFieldOptions {
  /** Frequent reasons, each of which can be entered with one click. */
  readonly suggestions?: readonly string[];
  readonly hint?: string;
  /** The value that the field has at first, such as the reason that the holder gave. */
  readonly value?: string;
}

/**
 * A field for the reason of an action. Without `hint`, the field states that the holder can read it; an action that is
 * not about a license or its holder needs another hint.
 */
export const reasonField = ({
  suggestions,
  hint = texts.hint,
  value = '',
}: ReasonFieldOptions = {}): DialogField => ({
  label: texts.label,
  value,
  hint,
  suggestions: suggestions && { label: texts.suggestions, values: suggestions },
  area: { maxLength: REASON_MAX_LENGTH, rows: 2, autocomplete: 'off' },
  check: (value) => (value === '' ? texts.missing : containsEmail(value) && texts.email),
});

/** A field for the reason of a change of staff or tokens, which no holder reads. */
export const staffReasonField = () => reasonField({ hint: texts.auditOnlyHint });
