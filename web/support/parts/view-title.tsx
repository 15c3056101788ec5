import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { moveFocus } from '../../shared/announcer.js';

/** Where a view begins: the focus goes there as it is shown, so that reading begins there too. */
export function ViewTitle({ children, focus = true }: { children: ComponentChildren; focus?: boolean }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => {
    if (focus) moveFocus(heading.current);
  }, []);
  return <h1 ref={heading}>{children}</h1>;
}
