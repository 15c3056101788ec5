import { createContext, type ComponentChildren, type RefObject } from 'preact';

/** Whether the action of the form around a component runs. Its fields then keep their values, because these are sent. */
export const IsFormBusy = createContext(false);

interface Props {
  /** Receives the form element, so that the caller can move the focus to a field with an error. */
  readonly formRef: RefObject<HTMLFormElement | null>;
  readonly onSubmit: () => Promise<unknown>;
  readonly children: ComponentChildren;
  /** Whether the action of the form runs. The submit button shows that; the other buttons and the fields do nothing meanwhile. */
  readonly busy?: boolean;
  readonly role?: 'search';
}

/** A form that the page validates and sends, because the browser would show its own error messages and leave the page. */
export function Form({ formRef, onSubmit, children, busy = false, role }: Props) {
  return (
    <form
      ref={formRef}
      role={role}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void onSubmit();
      }}
    >
      <IsFormBusy.Provider value={busy}>{children}</IsFormBusy.Provider>
    </form>
  );
}
