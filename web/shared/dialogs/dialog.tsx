import type { ComponentChildren } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { placeToasts } from '../notices/toast.js';

interface Props {
  readonly title: ComponentChildren;
  readonly children: ComponentChildren;
  /** Called by Escape and by buttons in the dialog. */
  readonly onClose: () => void;
  /** What the first Escape shows instead of closing the dialog, if closing it would discard something. */
  readonly warning?: string | false;
}

/**
 * A modal dialog, open as long as it is rendered. The browser keeps the focus inside, and returns it when the dialog closes. Escape
 * does nothing while a button in the dialog is busy, so that a closed dialog never hides a result.
 */
export function Dialog({ title, children, onClose, warning = false }: Props) {
  const id = useId();
  const element = useRef<HTMLDialogElement>(null);
  const warningElement = useRef<HTMLParagraphElement>(null);
  const [isWarned, setIsWarned] = useState(false);
  const isBusy = () => element.current!.querySelector('[aria-busy="true"]') !== null;
  const closeOrWarn = () => {
    if (isBusy()) return;
    if (warning && !isWarned) setIsWarned(true);
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
  // In a dialog that is higher than the window, the warning would be out of sight.
  useEffect(() => warningElement.current?.scrollIntoView({ block: 'nearest' }), [isWarned]);
  return (
    <dialog
      ref={element}
      aria-labelledby={id}
      onClickCapture={ignoreDoubleClick}
      // The browser's own handling of Escape can be prevented only once. It would then close this dialog, and the one below it.
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || event.isComposing || event.defaultPrevented) return;
        event.preventDefault();
        if (!event.repeat) closeOrWarn();
      }}
      onCancel={(event) => {
        event.preventDefault();
        closeOrWarn();
      }}
      // A gesture to go back closes the dialog at the second time, although the page has ignored it once.
      onClose={() => {
        // Without an element the dialog is no longer rendered, so it may close.
        if (!element.current) return;
        if (isBusy() || (warning && !isWarned)) element.current.showModal();
        closeOrWarn();
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
      {isWarned && warning && (
        <p ref={warningElement} class="error" role="alert">
          {warning}
        </p>
      )}
    </dialog>
  );
}

/** Ignores the second click of a double click: the first one may have opened the dialog, with a button at the same place. */
function ignoreDoubleClick(event: MouseEvent): void {
  if (event.detail < 2) return;
  event.preventDefault();
  event.stopPropagation();
}
