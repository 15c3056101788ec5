import { isDeepStrictEqual } from 'node:util';
import type { Command, License, ModelState } from '../license-model.js';
import { step } from '../license-steps.js';
import { expectedViews, type Views } from '../observed-state.js';
import type { Look, Operation, Shown } from './history.js';

/*
 * The model of the random tests (`test/model/`), stepped as a function: an operation and a state give the states that may
 * follow. A history is of one license.
 */

/** The state of the model with the addresses that the license belongs to. */
export interface State {
  readonly state: ModelState;
  readonly holders: readonly string[];
}

/** The states that may follow when an operation takes effect; none if its response contradicts the state. */
export function* after({ state, holders }: State, operation: Operation): Generator<State> {
  const { command, outcome, clock, observed } = operation;
  const seen =
    outcome ?? (observed === undefined ? undefined : { says: 'answered elsewhere', binding: observed });
  if (command.do === 'look') {
    if (outcome === null || isShown(state, holders, (outcome as Shown).shown)) yield { state, holders };
    return;
  }
  // It is not known when the clock was read. It only matters whether a time has passed, so both ends of the interval are tried.
  for (const now of new Set(isTimed(command) ? clock : [clock[1]])) {
    const next = cloned(state);
    next.now = now;
    const answer = step(next, command, seen);
    if (outcome === null || isSame(withoutTimes(answer), withoutTimes(outcome)))
      yield { state: next, holders };
  }
}

const isTimed = (command: Command | Look) =>
  command.do === 'activate' || command.do === 'heartbeat' || command.do === 'rekey';

/** Clocks of one moment differ by less, unless a fault has set one. */
const MINUTE_MS = 60_000;

/** Two states with the same key allow the same histories. */
export function keyOf({ state }: State): string {
  const licenses = state.licenses.map((license) => {
    const { bindings, ended_at: _, end_changed_at: __, ...rest } = license;
    // Their order shows only which was added first.
    const each = bindings.map((binding) => JSON.stringify(keyOfBinding(license, binding)));
    // A key that is replaced later counts as replaced after the latest activation, which a wrong clock may have set ahead.
    const latest = Math.max(0, ...bindings.map(({ activated_at }) => activated_at));
    return { ...rest, latest: Math.floor(latest / MINUTE_MS), bindings: each.toSorted() };
  });
  return JSON.stringify([licenses, state.erased]);
}

// Of the time of an activation, it only matters which keys were replaced after it.
function keyOfBinding({ replaced_at }: License, binding: License['bindings'][number]) {
  const { activated_at, ended, requests, ...rest } = binding;
  const known = ended ? null : replaced_at.map((at) => at >= activated_at);
  return { ...rest, ended: ended?.reason, known, requests: requests.map(({ decision }) => decision) };
}

function cloned({ licenses, ...state }: ModelState): ModelState {
  return {
    ...state,
    erased: [...state.erased],
    forgotten: [...state.forgotten],
    licenses: licenses.map((license) => ({
      ...license,
      replaced_at: [...license.replaced_at],
      reports: license.reports && [...license.reports],
      bindings: license.bindings.map((binding) => ({
        ...binding,
        ended: binding.ended && { ...binding.ended },
        requests: binding.requests.map((request) => ({ ...request })),
      })),
    })),
  };
}

const TIMES = new Set(['activated_at', 'ended_at', 'decided_at', 'at', 'release_requested_at']);

/** Plain data without the times that the service chose: by its clock, which a fault may set. */
function withoutTimes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTimes);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => !TIMES.has(name));
  return Object.fromEntries(kept.map(([name, each]) => [name, withoutTimes(each)]));
}

const isSame = (a: unknown, b: unknown) => isDeepStrictEqual(structuredClone(a), structuredClone(b));

interface ShownLicense {
  readonly activations: readonly { readonly id: string }[];
  readonly requested?: readonly string[];
}

function isShown(state: ModelState, holders: readonly string[], shown: Views): boolean {
  const named = withIds(state, (shown.staff[0] ?? null) as ShownLicense | null);
  return isSame(comparable(expectedViews(named, holders, shown)), comparable(shown));
}

function comparable({ staff, holders }: Views): unknown {
  return {
    staff: staff.map(license),
    holders: (holders as (readonly unknown[])[]).map((all) => all.map(license)),
  };
}

/** Activations in the order of their ids; requests, which are kept as text with their times, as what was decided. */
function license(value: unknown): unknown {
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

/** An activation whose response was lost gets the id of an equal one that is seen and belongs to no other activation. */
function withIds(state: ModelState, shown: ShownLicense | null): ModelState {
  const [{ bindings }] = state.licenses as [License];
  if (!shown || bindings.every(({ id }) => id !== '?')) return state;
  const named = cloned(state);
  const unknown = shown.activations.filter(({ id }) => bindings.every((binding) => binding.id !== id));
  for (const binding of named.licenses[0]!.bindings.filter(({ id }) => id === '?')) {
    const state = binding.ended?.reason ?? 'active';
    const { hostname_hint } = binding;
    const at = unknown.findIndex((each) => isDeepStrictEqual(facts(each), { hostname_hint, state }));
    if (at >= 0) binding.id = unknown.splice(at, 1)[0]!.id;
  }
  return named;
}

const facts = (shown: object) => {
  const { hostname_hint, state } = shown as { hostname_hint: string | null; state: string };
  return { hostname_hint, state };
};
