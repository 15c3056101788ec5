/** The open dialog that is in front of all others. */
export const frontDialog = () => [...document.querySelectorAll('dialog[open]')].at(-1);

/**
 * Announces a text to screen readers. They announce only a change of an element that is already on the page and, while a dialog is
 * open, only a change inside the dialog. So the page and each dialog have an empty element for announcements.
 */
export function announce(text: string): void {
  // The regions are emptied first, so that a repeated text is announced again.
  for (const region of document.querySelectorAll('.announcer')) region.textContent = '';
  // In the next frame, because a dialog may be about to open or to close.
  requestAnimationFrame(() => {
    const region = frontDialog()?.querySelector('.announcer') ?? document.getElementById('announcer');
    if (region) region.textContent = text;
  });
}

/**
 * Moves the focus to the first field that has an error, in the next frame. Screen readers read the error when the field gets the
 * focus, so it is announced if the field has the focus already.
 */
export function focusFirstError(form: HTMLElement): void {
  requestAnimationFrame(() => {
    const field = form.querySelector<HTMLElement>('[aria-invalid="true"]');
    if (field && field === document.activeElement)
      announce(field.closest('.field')!.querySelector('.error')!.textContent);
    field?.focus();
  });
}

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
