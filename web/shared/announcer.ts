/** Says something to those who do not see it appear. The region stands in the page from the start, or it is not heard. */
export function announce(text: string): void {
  const region = document.getElementById('announcer');
  if (!region) return;
  // Emptied first: the same messages twice are said twice.
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
