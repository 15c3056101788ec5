import type { DialogField } from '../../shared/confirm-dialog.js';
import { messages } from '../messages.js';

const REASON_MAX_LENGTH = 500;
const texts = messages.reason;

interface ReasonFieldOptions {
  /** Usual reasons, each of which can be entered with one click. */
  readonly usual?: readonly string[];
  readonly hint?: string;
  /** The first value, such as the reason of the holder. */
  readonly value?: string;
}

/** The reason that staff give for every change. */
export const reasonField = ({
  usual,
  hint = texts.hint,
  value = '',
}: ReasonFieldOptions = {}): DialogField => ({
  label: texts.label,
  value,
  hint,
  suggestions: usual && { label: texts.usual, values: usual },
  area: { maxLength: REASON_MAX_LENGTH, rows: 2, autocomplete: 'off' },
  check: (value) => (value === '' ? texts.missing : value.includes('@') && texts.email),
});

export const staffReasonField = () => reasonField({ hint: texts.hintOfStaff });
