import type { DialogField } from '../../shared/dialogs/confirm-dialog.js';

/** A field for an e-mail address. @param more further members of the field, such as a hint */
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
