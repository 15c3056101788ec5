import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { isSignedOut } from '../shared/api/api.js';
import { explain } from './explain.js';
import type { HolderLicensesAnswer } from '../../src/http/responses/api-types.js';

/** The data of the signed-in holder, and the functions with which parts of the page change it. */
export interface HolderSession {
  readonly holder: HolderLicensesAnswer;
  /**
   * Changes the latest data, which may be newer than `holder`. The element with the id `changedId` gets the focus. After a
   * sign-out, or if another holder has signed in since, it changes nothing.
   */
  readonly update: (
    change: (latest: HolderLicensesAnswer) => HolderLicensesAnswer,
    changedId?: string,
  ) => void;
  /** Opens the dialog to sign in again. Called if a request is refused because the session has ended, and by a button. */
  readonly onEnded: () => void;
  /** Opens the dialog to sign in with a mailed code. After that the element with the id `focusAfterwards` gets the focus. */
  readonly openSignInByCode: (options: { readonly focusAfterwards: string }) => void;
}

export const Session = createContext<HolderSession | null>(null);

export const useHolderSession = () => useContext(Session)!;

/** Returns a function that turns an error into a message, and calls `onEnded` if the session has ended. */
export function useHolderError(): (error: unknown) => string {
  const { onEnded } = useHolderSession();
  return (error) => {
    if (isSignedOut(error)) onEnded();
    return explain(error);
  };
}
