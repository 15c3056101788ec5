import type { ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import { common } from '../texts/messages.js';
import { IsFormBusy } from './form.js';

export interface ButtonProps {
  readonly children: ComponentChildren;
  /** A `harm` button opens the dialog of a harmful action; the `danger` button in that dialog confirms the action. */
  readonly kind?: 'plain' | 'primary' | 'danger' | 'harm' | 'link';
  readonly type?: 'button' | 'submit';
  /** Whether a click does nothing, because the work of another button is running, or nothing is selected. */
  readonly isBlocked?: boolean;
  /** The work of this button is still running. The button shows that and keeps the focus; another click does nothing. */
  readonly busy?: boolean;
  /** Whether the button has the focus when its dialog opens. Set it for the button that changes nothing. */
  readonly autofocus?: boolean;
  readonly id?: string;
  /** The full accessible name, which begins with the words of the visible text. */
  readonly label?: string;
  /** Ids of the elements whose texts are the accessible name, if the visible text alone is ambiguous. */
  readonly labelledBy?: string;
  /** The id of the element that describes what the button works on. */
  readonly describedBy?: string;
  readonly onClick?: () => void;
  /** Called when the pointer or the focus reaches the button, so that a click is likely. */
  readonly onNear?: () => void;
}

export function Button({
  children,
  kind = 'plain',
  type = 'button',
  busy: isWorking = false,
  isBlocked = false,
  autofocus = false,
  id,
  label,
  labelledBy,
  describedBy,
  onClick,
  onNear,
}: ButtonProps) {
  const isFormBusy = useContext(IsFormBusy);
  const busy = isWorking || (isFormBusy && type === 'submit');
  const ignoresClicks = busy || isBlocked || isFormBusy;
  return (
    <button
      type={type}
      class={`button ${kind}`}
      id={id}
      autofocus={autofocus}
      aria-label={label}
      aria-labelledby={labelledBy}
      aria-describedby={describedBy}
      aria-disabled={ignoresClicks}
      aria-busy={busy}
      onPointerEnter={onNear}
      onFocus={onNear}
      onClick={(event) => {
        if (ignoresClicks) event.preventDefault();
        else onClick?.();
      }}
    >
      <span class="label">{children}</span>
      {busy && <span class="working"> {common.working}</span>}
    </button>
  );
}
