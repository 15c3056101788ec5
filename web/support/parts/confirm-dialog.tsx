import {
  ConfirmDialog as SharedDialog,
  type ConfirmDialogProps,
} from '../../shared/dialogs/confirm-dialog.js';
import { messages } from '../messages.js';
import { memberErrors, problemText } from './problem-text.js';

/** The dialog with the messages of this page. */
export function ConfirmDialog<Name extends string = never>(
  props: Omit<ConfirmDialogProps<Name>, 'cancel' | 'explain'>,
) {
  return <SharedDialog {...props} cancel={messages.cancel} explain={explain} />;
}

function explain(error: unknown) {
  const fields = memberErrors(error);
  return { text: Object.keys(fields).length > 0 ? messages.checkFields : problemText(error), fields };
}
