/** What is kept over a reload that the page itself causes (load-on-demand.ts). */
interface Kept {
  /** What was typed to sign in. */
  readonly email?: string;
  readonly license_key?: string;
  /** Whether the page has loaded itself again. */
  readonly isReload?: boolean;
}

/** What this page kept before it loaded itself again. It was in the state of the history entry, which the browser never sends. */
export let kept = (history.state ?? {}) as Kept;
history.replaceState(null, '');

/** After a sign-in, what was typed before it is not shown again. */
export const forgetForm = () => (kept = {});

/** Keeps what is in the fields now. */
export function keepForm(): void {
  const fields = new FormData(document.querySelector('form') ?? undefined);
  history.replaceState({ ...Object.fromEntries(fields), isReload: true }, '');
}
