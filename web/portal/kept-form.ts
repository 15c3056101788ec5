/** What is kept over a reload: one that the page itself causes (load-on-demand.ts), or any while a mailed code is awaited. */
interface Kept {
  /** What was typed to sign in. */
  readonly email?: string;
  readonly license_key?: string;
  /** The address to which a code was mailed, as the response named it, and until when the code is valid (code-entry.tsx). */
  readonly sent_to?: string;
  readonly until?: number;
  /** Whether the page has loaded itself again. */
  readonly isReload?: boolean;
}

/** What this page kept before it was loaded again. It was in the state of the history entry, which the browser never sends. */
export let kept = (history.state ?? {}) as Kept;
history.replaceState(null, '');

/** After a sign-in or a sign-out, what was typed before it is not shown again. */
export function forgetForm(): void {
  kept = {};
  history.replaceState(null, '');
}

/** Keeps what is in the fields now. */
export function keepForm(): void {
  const fields = new FormData(document.querySelector('form') ?? undefined);
  history.replaceState({ ...Object.fromEntries(fields), isReload: true }, '');
}
