/** What is kept over a reload that the page itself causes (load-on-demand.ts). */
interface Kept {
  /** What was typed to sign in. */
  readonly email?: string;
  readonly license_key?: string;
  /** Whether the page has loaded itself again. */
  readonly isReload?: boolean;
}

/** What this page kept before it loaded itself again, in the entry of the history, which the browser sends nowhere. */
export const kept = (history.state ?? {}) as Kept;
history.replaceState(null, '');

/** Keeps what is in the fields now. */
export function keepForm(): void {
  const form = document.querySelector('form');
  const fields = form ? Object.fromEntries(new FormData(form)) : {};
  history.replaceState({ ...fields, isReload: true }, '');
}
