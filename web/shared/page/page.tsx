import type { ComponentChildren } from 'preact';
import { OfflineNotice } from './offline-notice.js';

interface Props {
  readonly children: ComponentChildren;
  readonly header?: ComponentChildren;
  readonly footer?: ComponentChildren;
  /** Whether the page is wide enough for tables. */
  readonly wide?: boolean;
}

/** The frame of every page. The link that skips to `main` is in the HTML file of the page. */
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
      <OfflineNotice />
    </>
  );
}
