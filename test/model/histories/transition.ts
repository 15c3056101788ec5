import { isDeepStrictEqual } from 'node:util';
import type { Command, License, Life } from '../license-model.js';
import { step } from '../license-steps.js';
import { expectedViews, type Views } from '../license-views.js';
import type { Look, Operation, Shown } from './history.js';

/*
 * The model of the random tests (`test/model/`), stepped as a function: an operation and a state give the states that may
 * follow. A history is of one license.
 */

/** The state of the model with the addresses that the license belongs to. */
export interface State {
  readonly life: Life;
  readonly holders: readonly string[];
}

/** The states that may follow when an operation takes effect; none where its answer contradicts the state. */
export function* after({ life, holders }: State, operation: Operation): Generator<State> {
  const { command, said, clock, told } = operation;
  const seen = said ?? (told === undefined ? undefined : { says: 'told elsewhere', binding: told });
  if (command.do === 'look') {
    if (said === null || isShown(life, holders, (said as Shown).shown)) yield { life, holders };
    return;
  }
  // When the clock was read is not known. What depends on it is whether a moment has come: the ends of the interval tell.
  for (const now of new Set(isTimed(command) ? clock : [clock[1]])) {
    const next = cloned(life);
    next.now = now;
    const answer = step(next, command, seen);
    if (said === null || isSame(withoutTimes(answer), withoutTimes(said))) yield { life: next, holders };
  }
}

const isTimed = (command: Command | Look) =>
  command.do === 'activate' || command.do === 'heartbeat' || command.do === 'rekey';

/** Clocks of one moment differ by less, unless a fault has set one. */
const MINUTE_MS = 60_000;

/** Two states with the same key allow the same histories. */
export function keyOf({ life }: State): string {
  const licenses = life.licenses.map((license) => {
    const { bindings, ended_at: _, end_changed_at: __, ...rest } = license;
    // Their order says only who came first.
    const each = bindings.map((binding) => JSON.stringify(keyOfBinding(license, binding)));
    // A key that is replaced later counts as replaced after the latest activation, which a wrong clock may have set ahead.
    const latest = Math.max(0, ...bindings.map(({ activated_at }) => activated_at));
    return { ...rest, latest: Math.floor(latest / MINUTE_MS), bindings: each.toSorted() };
  });
  return JSON.stringify([licenses, life.erased]);
}

// Of an activation's time it matters alone which keys were replaced since; of others nothing.
function keyOfBinding({ replaced_at }: License, binding: License['bindings'][number]) {
  const { activated_at, ended, requests, ...rest } = binding;
  const known = ended ? null : replaced_at.map((at) => at >= activated_at);
  return { ...rest, ended: ended?.reason, known, requests: requests.map(({ decision }) => decision) };
}

function cloned({ licenses, ...life }: Life): Life {
  return {
    ...life,
    erased: [...life.erased],
    forgotten: [...life.forgotten],
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

function isShown(life: Life, holders: readonly string[], shown: Views): boolean {
  const named = withIds(life, (shown.staff[0] ?? null) as ShownLicense | null);
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

/** An activation whose answer was lost gets the id of one that is shown alike and belongs to no other. */
function withIds(life: Life, shown: ShownLicense | null): Life {
  const [{ bindings }] = life.licenses as [License];
  if (!shown || bindings.every(({ id }) => id !== '?')) return life;
  const named = cloned(life);
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
