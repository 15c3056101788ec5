/** Announces a text to screen readers. They only announce changes of a region that was in the page from the start. */
export function announce(text: string): void {
  const region = document.getElementById('announcer');
  if (!region) return;
  // Emptied first, so that a repeated text is announced again.
  region.textContent = '';
  requestAnimationFrame(() => (region.textContent = text));
}

/** After a refusal: to the first field that is wrong. */
export const focusFirstError = (form: HTMLElement) => focusSoon(form, '[aria-invalid="true"]');

/** Focuses what is about to be shown: the first within that matches. */
export function focusSoon(within: HTMLElement, selector: string): void {
  requestAnimationFrame(() => within.querySelector<HTMLElement>(selector)?.focus());
}

/** Moves the focus to what changed, so that reading and the keyboard go on from there. */
export function moveFocus(element: HTMLElement | null): void {
  if (!element) return;
  if (!element.matches('a, button, input, select, textarea, summary')) element.tabIndex = -1;
  element.focus();
}
