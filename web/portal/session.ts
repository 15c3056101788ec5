import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { isSignedOut } from '../shared/api.js';
import { explain } from './explain.js';
import type { HolderLicensesAnswer } from '../shared/api-types.js';

/** Who is signed in, and what any part of the page may do to that. */
export interface HolderSession {
  readonly holder: HolderLicensesAnswer;
  /** Shows the changed data. The element with the id `changedId` gets the focus. */
  readonly update: (holder: HolderLicensesAnswer, changedId?: string) => void;
  /** The service says that the session is over. */
  readonly onEnded: () => void;
  /** Asks for a sign-in by code. Then the element with the id `next` gets the focus. */
  readonly proveMailbox: (next: string) => void;
}

export const Session = createContext<HolderSession | null>(null);

export const useHolderSession = () => useContext(Session)!;

/** Returns a function that turns an error into a message, and tells the page when the session has ended. */
export function useHolderError(): (error: unknown) => string {
  const { onEnded } = useHolderSession();
  return (error) => {
    if (isSignedOut(error)) onEnded();
    return explain(error);
  };
}
