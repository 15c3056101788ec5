import type { ComponentChildren, RefObject } from 'preact';

interface Props {
  /** Where the focus goes to what is wrong. */
  readonly element: RefObject<HTMLFormElement | null>;
  readonly onSubmit: () => Promise<unknown>;
  readonly children: ComponentChildren;
  readonly role?: 'search';
}

/** A form that the page checks and sends: the browser would do the first in messages of its own, and leave the page. */
export function Form({ element, onSubmit, children, role }: Props) {
  return (
    <form
      ref={element}
      class={role}
      role={role}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void onSubmit();
      }}
    >
      {children}
    </form>
  );
}
