import { useEffect, useState } from 'preact/hooks';
import type { Decision } from '../types.js';

/** What a row shows: the decision that is confirmed and not carried out yet, or one that failed, with the reason that was typed. */
export type RowState =
  Decision | { readonly failed: Decision; readonly error: string; readonly reason: string };

/** By the id of the activation. Each change makes a new map. */
let states: ReadonlyMap<string, RowState> = new Map();
const changes = new EventTarget();
const listeners = new Set<(ids: readonly string[]) => Promise<unknown>>();

/** @param state undefined if the rows show nothing special any more */
export function setRowStates(ids: readonly string[], state: RowState | undefined): void {
  const next = new Map(states);
  for (const id of ids)
    if (state === undefined) next.delete(id);
    else next.set(id, state);
  states = next;
  changes.dispatchEvent(new Event('change'));
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
    changes.addEventListener('change', read);
    return () => changes.removeEventListener('change', read);
  }, []);
  return current;
}

export const isPending = (state: RowState | undefined): state is Decision => typeof state === 'string';

/**
 * Calls `load` each time that decisions were carried out, with the ids of all their activations, also of those whose
 * request failed or was declined.
 */
export function useOnDecided(load: (ids: readonly string[]) => Promise<unknown>): void {
  useEffect(() => {
    listeners.add(load);
    return () => void listeners.delete(load);
  });
}

/** Loads what the views show again, after decisions were carried out. */
export const reloadViews = (ids: readonly string[]) => Promise.all([...listeners].map((load) => load(ids)));
