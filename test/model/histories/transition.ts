import { isDeepStrictEqual } from 'node:util';
import { UNKNOWN_ID, type Command, type License, type ModelState } from '../license-model.js';
import { step } from '../license-steps.js';
import { expectedViews, isSame, type Views } from '../observed-state.js';
import type { Operation, ReadViews, ViewsOutcome } from './history.js';

/*
 * The model of `test/model/` as a function without side effects: from a state and an operation it computes the states that may
 * follow. A history is about one license.
 */

/** The state of the model, and the holders whose views are compared. */
export interface State {
  readonly state: ModelState;
  readonly holders: readonly string[];
}

/** The states that may follow when an operation takes effect; none if its response contradicts the state. */
export function* statesAfter({ state, holders }: State, operation: Operation): Generator<State> {
  const { command, outcome, clock, observedId } = operation;
  // The model takes the ids of new objects from the response. Without one, another operation may have shown the id.
  const observed =
    outcome ?? (observedId === undefined ? undefined : { result: 'unknown', activationId: observedId });
  if (command.type === 'read-views') {
    if (outcome === null || areViewsExpected(state, holders, (outcome as ViewsOutcome).views))
      yield { state, holders };
    return;
  }
  // It is unknown when the instance read its clock. All that matters is whether an expiry has passed, and whether a machine was
  // activated before the key was replaced. So the earliest and the latest time in `clock` are tried.
  for (const now of new Set(dependsOnClock(command) ? clock : [clock[1]])) {
    const next = copyState(state);
    next.now = now;
    const answer = step(next, command, observed);
    if (outcome === null || isSame(withoutTimes(answer), withoutTimes(outcome)))
      yield { state: next, holders };
  }
}

const dependsOnClock = (command: Command | ReadViews) =>
  command.type === 'activate' || command.type === 'heartbeat' || command.type === 'rekey';

const MINUTE_MS = 60_000;

/** A key of the state. Two states with the same key have the same possible continuations. */
export function keyOf({ state }: State): string {
  const licenses = state.licenses.map((license) => {
    const { activations, ended_at: _, end_changed_at: __, ...rest } = license;
    // The order of activations only shows which was added first, so their keys are sorted.
    const keys = activations.map((activation) => JSON.stringify(keyOfActivation(license, activation)));
    // A replacement of the license key gets the time of the latest activation or a later time, so this time belongs to the state.
    // Whole minutes suffice: two clocks differ by less than a minute, unless a fault has set one.
    const latest = Math.max(0, ...activations.map(({ activated_at }) => activated_at));
    return { ...rest, latest: Math.floor(latest / MINUTE_MS), activations: keys.toSorted() };
  });
  return JSON.stringify([licenses, state.erased]);
}

// The time of an activation matters only because of the keys that were replaced after it.
function keyOfActivation({ replaced_at }: License, activation: License['activations'][number]) {
  const { activated_at, ended, requests, ...rest } = activation;
  const knownKeys = ended ? null : replaced_at.map((at) => at >= activated_at);
  return { ...rest, ended: ended?.reason, knownKeys, requests: requests.map(({ decision }) => decision) };
}

function copyState({ licenses, ...state }: ModelState): ModelState {
  return {
    ...state,
    erased: [...state.erased],
    deletedActivations: [...state.deletedActivations],
    licenses: licenses.map((license) => ({
      ...license,
      replaced_at: [...license.replaced_at],
      reports: license.reports && [...license.reports],
      activations: license.activations.map((activation) => ({
        ...activation,
        ended: activation.ended && { ...activation.ended },
        requests: activation.requests.map((request) => ({ ...request })),
      })),
    })),
  };
}

const TIMES = new Set(['activated_at', 'ended_at', 'decided_at', 'at', 'release_requested_at']);

/** Returns the data without the times that the service chose, because a fault may set its clock. */
function withoutTimes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTimes);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => !TIMES.has(name));
  return Object.fromEntries(kept.map(([name, each]) => [name, withoutTimes(each)]));
}

interface ShownLicense {
  readonly activations: readonly { readonly id: string }[];
  readonly requested?: readonly string[];
}

/** Whether these are the views that the model expects in this state, apart from times and the order of activations. */
function areViewsExpected(state: ModelState, holders: readonly string[], shown: Views): boolean {
  const named = withShownIds(state, (shown.staff[0] ?? null) as ShownLicense | null);
  return isSame(toComparableViews(expectedViews(named, holders, shown)), toComparableViews(shown));
}

function toComparableViews({ staff, holders }: Views): unknown {
  return {
    staff: staff.map(toComparableLicense),
    holders: (holders as (readonly unknown[])[]).map((all) => all.map(toComparableLicense)),
  };
}

/** Sorts activations by their ids, and reduces each release request, a JSON text with times, to its activation and decision. */
function toComparableLicense(value: unknown): unknown {
  if (value === null) return null;
  const { activations, requested, ...rest } = value as ShownLicense;
  const requests = requested?.map(
    (text) => JSON.parse(text) as { activation_id: string; decision: string | null },
  );
  return withoutTimes({
    ...rest,
    activations: activations.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    requested: requests?.map(({ activation_id, decision }) => `${activation_id} ${decision}`).toSorted(),
  });
}

/** Gives each activation without a known id that of an activation in the view with the same hint and state, each id only once. */
function withShownIds(state: ModelState, shown: ShownLicense | null): ModelState {
  const [{ activations }] = state.licenses as [License];
  if (!shown || activations.every(({ id }) => id !== UNKNOWN_ID)) return state;
  const named = copyState(state);
  const unassigned = shown.activations.filter(({ id }) =>
    activations.every((activation) => activation.id !== id),
  );
  for (const activation of named.licenses[0]!.activations.filter(({ id }) => id === UNKNOWN_ID)) {
    const state = activation.ended?.reason ?? 'active';
    const { hostname_hint } = activation;
    const index = unassigned.findIndex((each) =>
      isDeepStrictEqual(hintAndState(each), { hostname_hint, state }),
    );
    if (index >= 0) activation.id = unassigned.splice(index, 1)[0]!.id;
  }
  return named;
}

const hintAndState = (shown: object) => {
  const { hostname_hint, state } = shown as { hostname_hint: string | null; state: string };
  return { hostname_hint, state };
};
