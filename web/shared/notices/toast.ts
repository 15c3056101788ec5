import { announce, frontDialog, moveFocus } from './announcer.js';
import { common } from '../texts/messages.js';

/** How long a toast is shown: long enough to read two short sentences. */
const TOAST_DURATION_MS = 7_000;

/** The region that contains the toasts, the newest last. It is a popover, so it is in front of the page. */
const region = document.createElement('div');
region.className = 'toasts';
region.popover = 'manual';
region.role = 'region';
// The style sheet keeps this height free below dialogs and the focused element, so that toasts do not cover them.
new ResizeObserver(() =>
  document.documentElement.style.setProperty('--toasts-height', `${region.getBoundingClientRect().height}px`),
).observe(region);

/** Shows for some seconds that something was done, and announces it to screen readers. It replaces the last such message. */
export function toast(text: string): void {
  announce(text);
  region.querySelector('.passing')?.remove();
  const element = createToast('toast passing', text);
  // Hidden from screen readers, because `announce` has passed them the text.
  element.ariaHidden = 'true';
  showToast(element);
  const start = () => setTimeout(() => removeToast(element), TOAST_DURATION_MS);
  let timer = start();
  element.addEventListener('pointerenter', () => clearTimeout(timer));
  element.addEventListener('pointerleave', () => (timer = start()));
}

/**
 * Shows an error that belongs to no particular element of the page. It stays until it is dismissed, or until `removeError` or
 * `removeErrors` removes it.
 */
export function toastError(text: string): void {
  for (const earlier of findErrors(text)) earlier.remove();
  const element = createToast('toast danger', text);
  element.role = 'alert';
  element.append(createButton(common.dismiss, () => removeToast(element)));
  showToast(element);
}

const findErrors = (text: string) =>
  [...region.querySelectorAll<HTMLElement>('.danger')].filter(
    ({ firstChild }) => firstChild?.textContent === text,
  );

/** Removes an error that is no longer true. */
export const removeError = (text: string) => findErrors(text).forEach(removeToast);

/** Removes all errors, such as those of a person who has signed out. */
export const removeErrors = () => region.querySelectorAll<HTMLElement>('.danger').forEach(removeToast);

/**
 * Puts the toasts into the dialog that is in front, because everything outside an open dialog is inert, or into the page if no
 * dialog is open.
 */
export function placeToasts(): void {
  const parent = frontDialog() ?? document.body;
  if (region.parentElement !== parent) parent.append(region);
  if (!('showPopover' in region) || region.matches(':popover-open') === region.hasChildNodes()) return;
  if (region.hasChildNodes()) region.showPopover();
  else region.hidePopover();
}

/** Creates a toast, which is not shown yet. */
export function createToast(className: string, text: string): HTMLElement {
  const element = document.createElement('div');
  element.className = className;
  const sentence = document.createElement('span');
  sentence.textContent = text;
  element.append(sentence);
  return element;
}

/** Creates the button of a toast. */
export function createButton(text: string, onClick: () => void): HTMLButtonElement {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'button link';
  button.textContent = text;
  button.addEventListener('click', onClick);
  return button;
}

/** Shows a toast, the newest as the last. */
export function showToast(element: HTMLElement): void {
  // Set here, because the texts of another language are loaded after this module.
  region.ariaLabel = common.toasts;
  region.append(element);
  placeToasts();
  region.scrollTo(0, region.scrollHeight);
}

/** Removes a toast; if it had the focus, the heading of the dialog in front or of the page gets it. */
export function removeToast(element: HTMLElement): void {
  const hadFocus = element.contains(document.activeElement);
  element.remove();
  placeToasts();
  if (hadFocus) moveFocus(region.closest('dialog')?.querySelector('h2') ?? document.querySelector('h1'));
}
