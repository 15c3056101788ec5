import type { DialogField } from '../../shared/confirm-dialog.js';
import { messages } from '../messages.js';

const REASON_MAX_LENGTH = 500;
const texts = messages.reason;

/** The reason that staff give for every change. */
export const reasonField = (usual?: readonly string[], hint = texts.hint): DialogField => ({
  label: texts.label,
  hint,
  suggestions: usual && { label: texts.usual, values: usual },
  area: { maxLength: REASON_MAX_LENGTH, rows: 2, autocomplete: 'off' },
  check: (value) => (value === '' ? texts.missing : value.includes('@') && texts.email),
});

export const staffReasonField = () => reasonField(undefined, texts.hintOfStaff);
