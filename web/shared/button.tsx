import type { ComponentChildren } from 'preact';

interface Props {
  readonly children: ComponentChildren;
  readonly kind?: 'plain' | 'primary' | 'danger' | 'link';
  readonly type?: 'button' | 'submit';
  /** What it began goes on. It keeps the focus, and a second click does nothing. */
  readonly busy?: boolean;
  readonly label?: string;
  readonly onClick?: () => void;
}

export function Button({ children, kind = 'plain', type = 'button', busy = false, label, onClick }: Props) {
  return (
    <button
      type={type}
      class={`button ${kind}`}
      aria-label={label}
      aria-disabled={busy}
      onClick={(event) => {
        if (busy) event.preventDefault();
        else onClick?.();
      }}
    >
      {children}
    </button>
  );
}
