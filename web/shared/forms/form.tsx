import type { ComponentChildren, RefObject } from 'preact';

interface Props {
  /** Receives the form element, so that the caller can move the focus to a field with an error. */
  readonly element: RefObject<HTMLFormElement | null>;
  readonly onSubmit: () => Promise<unknown>;
  readonly children: ComponentChildren;
  readonly role?: 'search';
}

/** A form that the page validates and sends, because the browser would show its own error messages and leave the page. */
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
