import type { ComponentChildren } from 'preact';

interface Props {
  readonly kind?: 'info' | 'good' | 'warning' | 'danger';
  readonly children: ComponentChildren;
}

/** Something to know before going on. `danger` is read out as it appears. */
export function Notice({ kind = 'info', children }: Props) {
  return (
    <div class={`notice ${kind}`} role={kind === 'danger' ? 'alert' : undefined}>
      {children}
    </div>
  );
}
