import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { useAction, type Action } from '../shared/action.js';
import { isSignedOut } from '../shared/api.js';
import { explain } from './explain.js';
import type { Holder } from './holder.js';

/** Who is signed in, and what any part of the page may do to that. */
export interface HolderSession {
  readonly holder: Holder;
  /** Shows the holder as they are now; the element of this id, which changed, gets the focus. */
  readonly update: (holder: Holder, changedId: string) => void;
  /** The service says that the session is over. */
  readonly onEnded: () => void;
  /** Asks for the sign-in that proves the mailbox. */
  readonly proveMailbox: () => void;
}

export const Session = createContext<HolderSession | null>(null);

export const useHolderSession = () => useContext(Session)!;

/** An action of someone signed in, which may find that they no longer are. */
export function useHolderAction(): Action {
  const { onEnded } = useHolderSession();
  return useAction((error) => {
    if (isSignedOut(error)) onEnded();
    return explain(error);
  });
}
