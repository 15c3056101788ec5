import type { DialogField } from '../../shared/confirm-dialog.js';
import { messages } from '../messages.js';

const REASON_MAX_LENGTH = 500;
const texts = messages.reason;

/** The reason that staff give for every change. @param value the first value, such as the reason of the holder */
export const reasonField = (usual?: readonly string[], hint = texts.hint, value = ''): DialogField => ({
  label: texts.label,
  value,
  hint,
  suggestions: usual && { label: texts.usual, values: usual },
  area: { maxLength: REASON_MAX_LENGTH, rows: 2, autocomplete: 'off' },
  check: (value) => (value === '' ? texts.missing : value.includes('@') && texts.email),
});

export const staffReasonField = () => reasonField(undefined, texts.hintOfStaff);
