import type { ComponentChildren } from 'preact';
import { common } from './messages.js';

interface Props {
  readonly children: ComponentChildren;
  /** `harm` asks about what `danger` then does. */
  readonly kind?: 'plain' | 'primary' | 'danger' | 'harm' | 'link';
  readonly type?: 'button' | 'submit';
  /** Another button's work is not done: a click does nothing. */
  readonly isBlocked?: boolean;
  /** The work it started is not done. It says so, keeps the focus, and a second click does nothing. */
  readonly busy?: boolean;
  /** Where a dialog begins: the answer that changes nothing. */
  readonly autofocus?: boolean;
  readonly id?: string;
  /** What it is called in full; it begins with the messages it shows. */
  readonly label?: string;
  /** Ids of the elements that name it together, where its own messages do not say enough. */
  readonly labelledBy?: string;
  readonly onClick?: () => void;
}

export function Button({
  children,
  kind = 'plain',
  type = 'button',
  busy = false,
  isBlocked = false,
  autofocus = false,
  id,
  label,
  labelledBy,
  onClick,
}: Props) {
  return (
    <button
      type={type}
      class={`button ${kind}`}
      id={id}
      autofocus={autofocus}
      aria-label={label}
      aria-labelledby={labelledBy}
      aria-disabled={busy || isBlocked}
      aria-busy={busy}
      onClick={(event) => {
        if (busy || isBlocked) event.preventDefault();
        else onClick?.();
      }}
    >
      <span class="label">{children}</span>
      {busy && <span class="working"> {common.working}</span>}
    </button>
  );
}
