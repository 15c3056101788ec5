/**
 * Whether a field of a form is a day that is typed only in part, such as one without its year, or that does not exist. The browser
 * then gives the field an empty value, as if nothing was typed.
 */
export function isIncompleteDay(form: HTMLFormElement, name: string): boolean {
  const field = form.elements.namedItem(name);
  return field instanceof HTMLInputElement && field.type === 'date' && field.validity.badInput;
}
