import type { ComponentChildren } from 'preact';

interface Props {
  readonly children: ComponentChildren;
  readonly header?: ComponentChildren;
  readonly footer?: ComponentChildren;
  /** Uses the whole width of the window. */
  readonly wide?: boolean;
}

/** The frame of every page; the link that skips to `main` is in its HTML. */
export function Page({ children, header, footer, wide = false }: Props) {
  const width = wide ? 'page wide' : 'page';
  return (
    <>
      {header && (
        <header class="site">
          <div class={width}>{header}</div>
        </header>
      )}
      <main id="main" class={width} tabIndex={-1}>
        {children}
      </main>
      {footer && (
        <footer class="site">
          <div class={width}>{footer}</div>
        </footer>
      )}
    </>
  );
}
