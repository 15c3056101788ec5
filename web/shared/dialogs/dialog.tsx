import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { common } from '../texts/messages.js';
import { placeToasts } from '../notices/toast.js';

interface Props {
  readonly title: ComponentChildren;
  readonly children: ComponentChildren;
  /** Called by Escape and by buttons in the dialog. */
  readonly onClose: () => void;
  /** Whether an action runs. Until it ends, the dialog cannot be closed. */
  readonly busy?: boolean;
  /** Whether Escape would discard something that was typed. The first Escape then only warns. */
  readonly isFilled?: boolean;
}

/** A modal dialog, open as long as it is rendered. The browser keeps the focus inside, and returns it when the dialog closes. */
export function Dialog({ title, children, onClose, busy = false, isFilled = false }: Props) {
  const id = useId();
  const element = useRef<HTMLDialogElement>(null);
  const [isWarned, setIsWarned] = useState(false);
  const closeOrWarn = () => {
    if (busy) return;
    if (isFilled && !isWarned) setIsWarned(true);
    else onClose();
  };
  useLayoutEffect(() => {
    const dialog = element.current!;
    dialog.showModal();
    placeToasts();
    return () => {
      dialog.close();
      placeToasts();
    };
  }, []);
  return (
    <dialog
      ref={element}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        closeOrWarn();
      }}
      // A browser lets a page ignore Escape only once, and closes the dialog at the second one.
      onClose={() => {
        // Without an element the dialog is no longer rendered, so it may close.
        if (!element.current) return;
        if (busy || (isFilled && !isWarned)) element.current.showModal();
        closeOrWarn();
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
      {isWarned && isFilled && (
        <p class="error" role="alert">
          {common.discard}
        </p>
      )}
    </dialog>
  );
}
