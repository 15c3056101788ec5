import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { moveFocus } from '../../shared/notices/announcer.js';

/** The heading of a view. It gets the focus when the view is shown, so that screen readers start to read there. */
export function ViewTitle({ children, focus = true }: { children: ComponentChildren; focus?: boolean }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => {
    if (focus) moveFocus(heading.current);
  }, []);
  return <h1 ref={heading}>{children}</h1>;
}
