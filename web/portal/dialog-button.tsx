import { useAction } from '../shared/forms/action.js';
import { Button, type ButtonProps } from '../shared/forms/button.js';
import { toastError } from '../shared/notices/toast.js';
import { explain } from './explain.js';
import { loadOnDemand, preload } from './load-on-demand.js';

interface Props extends ButtonProps {
  readonly onOpen: () => void;
}

/**
 * A button that opens a dialog, or something else of on-demand.ts. As a rule that is loaded before the click: once the button has
 * the pointer or the focus.
 */
export function DialogButton({ onOpen, ...props }: Props) {
  const { busy, run } = useAction((error) => toastError(explain(error)));
  const open = () =>
    run(async () => {
      await loadOnDemand();
      onOpen();
    });
  return <Button {...props} busy={busy} onNear={() => void preload()} onClick={() => void open()} />;
}
