import { useAction } from '../shared/forms/action.js';
import { Button, type ButtonProps } from '../shared/forms/button.js';
import { toastError } from '../shared/notices/toast.js';
import { explain } from './explain.js';
import { loadOnDemand, preload } from './load-on-demand.js';

interface Props extends ButtonProps {
  /** Called after a click, once on-demand.ts is loaded. */
  readonly onLoaded: () => void;
}

/**
 * A button that shows a dialog or a form of on-demand.ts. As a rule that file is loaded before the click: once the button has the
 * pointer or the focus.
 */
export function OnDemandButton({ onLoaded, ...props }: Props) {
  const { busy, run } = useAction((error) => toastError(explain(error)));
  const loadFirst = () =>
    run(async () => {
      await loadOnDemand();
      onLoaded();
    });
  return <Button {...props} busy={busy} onNear={() => void preload()} onClick={() => void loadFirst()} />;
}
