import type { DialogField } from '../../shared/confirm-dialog.js';

export const emailField = (
  label: string,
  check: DialogField['check'],
  more?: Partial<DialogField>,
): DialogField => ({
  label,
  check,
  input: { type: 'email', autocomplete: 'off', spellcheck: false },
  ...more,
});
