/** Announces a text to screen readers. They only announce changes of a region that was in the page from the start. */
export function announce(text: string): void {
  const region = document.getElementById('announcer');
  if (!region) return;
  // The region is emptied first, so that a repeated text is announced again.
  region.textContent = '';
  requestAnimationFrame(() => (region.textContent = text));
}

/** Moves the focus to the first field that has an error, in the next frame. */
export const focusFirstError = (form: HTMLElement) => focusSoon(form, '[aria-invalid="true"]');

/** Focuses the first element that matches. It waits for the next frame, because the element may not be rendered yet. */
export function focusSoon(within: HTMLElement, selector: string): void {
  requestAnimationFrame(() => within.querySelector<HTMLElement>(selector)?.focus());
}

/** Moves the focus to an element that changed, so that screen readers and the keyboard continue there. */
export function moveFocus(element: HTMLElement | null): void {
  if (!element) return;
  if (!element.matches('a, button, input, select, textarea, summary')) element.tabIndex = -1;
  // An element in a collapsed list cannot have the focus.
  element.closest('details')?.setAttribute('open', '');
  element.focus();
}
