import type { ComponentChildren } from 'preact';

interface Props {
  readonly kind?: 'info' | 'good' | 'warning' | 'danger';
  readonly children: ComponentChildren;
}

/** A message in a box. Screen readers announce a message of the kind `danger` when it appears. */
export function Notice({ kind = 'info', children }: Props) {
  return (
    <div class={`notice ${kind}`} role={kind === 'danger' ? 'alert' : undefined}>
      {children}
    </div>
  );
}
