import { announce } from './announcer.js';
import { common } from './messages.js';

/** How long a toast is shown: long enough to read two short sentences. */
const TOAST_DURATION_MS = 7_000;

/** Shows that something was done, for some seconds, and announces it to screen readers. */
export function toast(text: string): void {
  announce(text);
  const element = create('toast', text);
  // Screen readers get the text from the live region, which was in the page from the start.
  element.ariaHidden = 'true';
  show(element);
  let timer = setTimeout(() => element.remove(), TOAST_DURATION_MS);
  element.addEventListener('pointerenter', () => clearTimeout(timer));
  element.addEventListener(
    'pointerleave',
    () => (timer = setTimeout(() => element.remove(), TOAST_DURATION_MS)),
  );
}

/** Shows an error that belongs to no particular element of the page. It stays until it is dismissed. */
export function toastError(text: string): void {
  const element = create('toast danger', text);
  element.role = 'alert';
  const dismiss = document.createElement('button');
  dismiss.type = 'button';
  dismiss.className = 'button link';
  dismiss.textContent = common.dismiss;
  dismiss.addEventListener('click', () => element.remove());
  element.append(dismiss);
  show(element);
}

function create(className: string, text: string): HTMLElement {
  const element = document.createElement('div');
  element.className = className;
  element.popover = 'manual';
  const sentence = document.createElement('span');
  sentence.textContent = text;
  element.append(sentence);
  return element;
}

/** Shows a toast in place of an earlier one. It is a popover, so it is in front of the page. */
function show(element: HTMLElement): void {
  // A dialog that the same action opens or closes is rendered or removed by the next frame.
  requestAnimationFrame(() => {
    for (const earlier of document.querySelectorAll('.toast')) earlier.remove();
    // Everything outside an open dialog is inert, so the toast is put into the dialog.
    (document.querySelector('dialog[open]') ?? document.body).append(element);
    if ('showPopover' in element) element.showPopover();
  });
}
