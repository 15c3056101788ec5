import type { ComponentChildren } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { frontDialog, moveFocus } from '../notices/announcer.js';
import { placeToasts } from '../notices/toast.js';

/** A second Escape within this time is no answer to the warning, because the person cannot have read it. */
const WARNING_READ_MS = 600;

interface Props {
  readonly title: ComponentChildren;
  readonly children: ComponentChildren;
  /** Called by Escape, and by the gesture to go back. */
  readonly onClose: () => void;
  /** The text that the first Escape shows if closing would discard something; a second Escape then closes the dialog. */
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
  // Undefined until the warning is shown, and again after the next input.
  const [warnedAt, setWarnedAt] = useState<number>();
  const isBusy = () => element.current!.querySelector('[aria-busy="true"]') !== null;
  const mayClose = () =>
    !isBusy() && (!warning || (warnedAt !== undefined && performance.now() - warnedAt > WARNING_READ_MS));
  const closeOrWarn = () => {
    if (mayClose()) onClose();
    else if (!isBusy()) setWarnedAt((before) => before ?? performance.now());
  };
  const escape = useRef(closeOrWarn);
  escape.current = closeOrWarn;
  // The browser's own handling of Escape can be prevented only once: at the second Escape it would close this dialog and the one
  // below. The event is handled by the window, because the page gets the focus when a focused element disappears.
  useLayoutEffect(() => {
    const handle = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || event.isComposing || event.defaultPrevented) return;
      if (frontDialog() !== element.current) return;
      event.preventDefault();
      if (!event.repeat) escape.current();
    };
    addEventListener('keydown', handle);
    return () => removeEventListener('keydown', handle);
  }, []);
  useLayoutEffect(() => {
    const dialog = element.current!;
    show(dialog);
    placeToasts();
    return () => {
      dialog.close();
      placeToasts();
    };
  }, []);
  // In a dialog that is higher than the window, the warning would be out of sight.
  useEffect(() => warningElement.current?.scrollIntoView({ block: 'nearest' }), [warnedAt]);
  return (
    <dialog
      ref={element}
      aria-labelledby={id}
      onClickCapture={ignoreDoubleClick}
      onInput={() => setWarnedAt(undefined)}
      onCancel={(event) => {
        event.preventDefault();
        closeOrWarn();
      }}
      // `onCancel` can prevent only the first gesture to go back. At the second one the browser closes the dialog, which is opened
      // again if it is still rendered afterwards.
      onClose={() => {
        // Without an element the dialog is no longer rendered, so it may close.
        if (!element.current) return;
        closeOrWarn();
        queueMicrotask(() => element.current?.open === false && show(element.current));
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
      {warnedAt !== undefined && warning && (
        <p ref={warningElement} class="error" role="alert">
          {warning}
        </p>
      )}
      <div class="announcer unseen" role="status" />
    </dialog>
  );
}

/** Opens a dialog. If it is higher than the window, the focus on a control at its end would scroll its title out of sight. */
function show(dialog: HTMLDialogElement): void {
  dialog.showModal();
  if (dialog.scrollTop === 0) return;
  moveFocus(dialog.querySelector('h2'));
  dialog.scrollTop = 0;
}

/** Ignores the second click of a double click: the first one may have opened the dialog, with a button at the same place. */
function ignoreDoubleClick(event: MouseEvent): void {
  if (event.detail < 2) return;
  event.preventDefault();
  event.stopPropagation();
}
