/** Keeps a typed address over a reload that the page itself causes: in the entry of the history, which the browser does not send. */
export const keepEmail = (email: string): void => history.replaceState({ email }, '');

/** Returns the kept address and removes it; empty if there is none. */
export function takeEmail(): string {
  const { email = '' } = (history.state ?? {}) as { readonly email?: string };
  if (email) history.replaceState(null, '');
  return email;
}
