import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';

interface Props {
  readonly title: ComponentChildren;
  readonly children: ComponentChildren;
  /** Escape, or a button of the dialog's own. */
  readonly onClose: () => void;
  /** What it asked for is being done: it stays until that is known. */
  readonly busy?: boolean;
}

/** A modal question: shown as long as it is rendered. The browser keeps the focus inside, and gives it back at the end. */
export function Dialog({ title, children, onClose, busy = false }: Props) {
  const id = useId();
  const element = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const dialog = element.current!;
    dialog.showModal();
    return () => dialog.close();
  }, []);
  return (
    <dialog
      ref={element}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        if (!busy) onClose();
      }}
      // A browser lets a page ignore Escape only once, and closes the dialog at the second one.
      onClose={() => busy && element.current?.showModal()}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}
