import type { ComponentChildren } from 'preact';

interface Props {
  readonly children: ComponentChildren;
  readonly kind?: 'plain' | 'primary' | 'danger' | 'link';
  readonly type?: 'button' | 'submit';
  /** What it began goes on. It keeps the focus, and a second click does nothing. */
  readonly busy?: boolean;
  readonly id?: string;
  /** Ids of the elements that name it together, where its own words do not say enough. */
  readonly labelledBy?: string;
  readonly onClick?: () => void;
}

export function Button({
  children,
  kind = 'plain',
  type = 'button',
  busy = false,
  id,
  labelledBy,
  onClick,
}: Props) {
  return (
    <button
      type={type}
      class={`button ${kind}`}
      id={id}
      aria-labelledby={labelledBy}
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
