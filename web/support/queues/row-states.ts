import { useEffect, useState } from 'preact/hooks';
import type { Decision } from '../types.js';

/**
 * What a row shows: a release that can still be undone; a decision that was sent, until the views are loaded again; or a decision
 * that failed, with the error and the reason that was typed.
 */
export type RowState =
  Decision | { readonly failed: Decision; readonly error: string; readonly reason: string };

/** By the id of the activation. Each change makes a new map. */
let states: ReadonlyMap<string, RowState> = new Map();
const stateChanges = new EventTarget();
const decidedListeners = new Set<(ids: readonly string[]) => Promise<unknown>>();

/** @param state undefined if the rows show nothing special any more */
export function setRowStates(ids: readonly string[], state: RowState | undefined): void {
  const next = new Map(states);
  for (const id of ids)
    if (state === undefined) next.delete(id);
    else next.set(id, state);
  states = next;
  stateChanges.dispatchEvent(new Event('change'));
}

/** Removes all states, which another person who signs in must not see. */
export const forgetRowStates = () => setRowStates([...states.keys()], undefined);

/** Returns the states of the rows, by the ids of their activations. */
export function useRowStates(): ReadonlyMap<string, RowState> {
  const [current, setCurrent] = useState(states);
  useEffect(() => {
    const read = () => setCurrent(states);
    // A state may have changed between the first render and this effect.
    read();
    stateChanges.addEventListener('change', read);
    return () => stateChanges.removeEventListener('change', read);
  }, []);
  return current;
}

/** Whether the row shows a decision that waits, is being sent or was carried out, and not one that failed. */
export const isPending = (state: RowState | undefined): state is Decision => typeof state === 'string';

/**
 * Calls `load` after decisions of staff were sent and at least one succeeded or got no answer, with the ids of all their
 * activations, also if a decision about one failed.
 */
export function useOnDecided(load: (ids: readonly string[]) => Promise<unknown>): void {
  // The effect has no dependencies, so that the `load` of the latest render is called.
  useEffect(() => {
    decidedListeners.add(load);
    return () => void decidedListeners.delete(load);
  });
}

/** Loads the data of the open views again, after decisions that succeeded or got no answer (`useOnDecided`). */
export const reloadViews = (ids: readonly string[]) =>
  Promise.all([...decidedListeners].map((load) => load(ids)));
