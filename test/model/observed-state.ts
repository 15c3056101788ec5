import { expect } from '@jest/globals';
import { isDeepStrictEqual } from 'node:util';
import type { Answer } from '../support/harness.js';
import {
  activeOf,
  isOfFormerHolder,
  purchaseState,
  refusal,
  selfReleasesLeft,
  statusOf,
  UNGUARDED,
  type Binding,
  type Command,
  type License,
  type ModelState,
  type Outcome,
} from './license-model.js';
import { step } from './license-steps.js';

/*
 * Compares the model with the service: the license as staff and its holder see it, and whether an order of concurrent commands
 * explains all responses and the resulting state.
 */

/** A command with its response; without one if it may have taken effect or not, as after a 503. */
export interface Observed {
  readonly command: Command;
  readonly outcome: Outcome | null;
}
export interface Views {
  /** By the index of the license; null if it is not issued yet. */
  readonly staff: readonly unknown[];
  readonly holders: readonly unknown[];
  /** The response to a heartbeat of each binding. */
  readonly clients: Readonly<Record<string, string>>;
}

const time = (text: string | null) => text && Date.parse(text);

/** Translates a response to the names of the model. */
export function outcome({ do: of }: Command, { status, json }: Answer): Outcome {
  if (status >= 400) {
    const { code, client_action, expired_at, machines_allowed, machines_in_use } = json;
    const facts = {
      ...(expired_at && { expired_at: time(expired_at) }),
      ...(code === 'machine_limit_reached' && { machines_allowed, machines_in_use }),
    };
    return { says: `${status} ${code} ${client_action}`, ...facts };
  }
  const says = String(status);
  if (of === 'erase') return { says, state: json.erasure.state };
  if (of === 'decide') {
    const { decision, decided_at } = json.release_request;
    return { says, decision, decided_at: time(decided_at) };
  }
  if (of === 'release' || of === 'self-release')
    return { says, state: json.activation.state, ended_at: time(json.activation.ended_at) };
  if (of !== 'activate' && of !== 'heartbeat') return { says };
  const { token, offline_until, server_time, license } = json;
  const { sub, lxp, exp } = JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString());
  // The token has the same content as the response, and is valid for seven days from now.
  expect([sub, lxp && lxp * 1000]).toEqual([json.activation?.id ?? sub, time(license.expires_at)]);
  expect([exp * 1000, Date.parse(offline_until) - Date.parse(server_time)]).toEqual([
    time(offline_until),
    604_800_000,
  ]);
  const { status: _active, expires_at, ...seats } = license;
  const facts = { binding: sub, expires_at: time(expires_at), ...seats };
  if (of === 'heartbeat') return { says, telemetry: 'telemetry' in json, ...facts };
  const { activated_at, hostname_hint } = json.activation;
  return { says, hostname_hint, activated_at: time(activated_at), ...facts };
}

const inOrder = (bindings: readonly Binding[]) =>
  bindings.toSorted(
    (a, b) =>
      Number(a.ended !== null) - Number(b.ended !== null) ||
      b.activated_at - a.activated_at ||
      (a.id < b.id ? 1 : -1),
  );

const common = (license: License) => ({
  status: statusOf(license),
  expires_at: license.expires_at,
  on_expiry: license.on_expiry,
  machines_allowed: license.machines_allowed,
  machines_in_use: activeOf(license).length,
});

/** When the last request of the present holder was declined. */
function lastDeclineAt({ email_since }: License, { requests }: Binding): number | null {
  const declines = requests.filter(
    ({ decision, at }) => decision === 'decline' && (email_since === null || at > email_since),
  );
  return declines.length > 0 ? Math.max(...declines.map(({ decided_at }) => decided_at!)) : null;
}

const bindingOf = ({ id, hostname_hint, app_version, activated_at, ended }: Binding) => ({
  id,
  hostname_hint,
  app_version,
  activated_at,
  state: ended?.reason ?? 'active',
  ended_at: ended?.at ?? null,
  ended_reason: ended?.reason ?? null,
});

/** The views that the service must show. */
export function expectedViews(
  { licenses, forgotten, now }: ModelState,
  holders: readonly string[],
  asked: Views,
): Views {
  const staff = licenses.map((license) => {
    if (!license.is_issued || license.is_gone) return null;
    const requests = license.bindings.flatMap(({ id, requests: all }) =>
      all.map(({ at, decision, decided_at }) => ({ activation_id: id, at, decision, decided_at })),
    );
    const { email, staff_status } = license;
    const activations = inOrder(license.bindings).map(bindingOf);
    const requested = sorted(requests);
    return {
      ...common(license),
      email,
      staff_status,
      purchase: purchaseState(license),
      activations,
      requested,
    };
  });
  const seenBy = (email: string) =>
    licenses.map((license) => {
      if (license.email !== email) return null;
      const own = license.bindings.filter((binding) => !isOfFormerHolder(license, binding));
      const activations = inOrder(own).map((binding) => {
        const open = binding.ended ? undefined : binding.requests.find(({ decision }) => decision === null);
        return {
          ...bindingOf(binding),
          release_requested_at: open?.at ?? null,
          release_declined_at: binding.ended ? null : lastDeclineAt(license, binding),
        };
      });
      return { ...common(license), self_releases_left: selfReleasesLeft(license, now), activations };
    });
  const clients = licenses.flatMap((license) =>
    license.bindings
      .filter(({ id }) => id in asked.clients)
      .map((binding) => [binding.id, refusal(license, binding, UNGUARDED, now)?.says ?? '200']),
  );
  const otherHolders = forgotten
    .filter((id) => id in asked.clients)
    .map((id) => [id, '403 token_invalid reactivate']);
  return {
    staff,
    holders: asked.holders.map((_, i) => seenBy(holders[i]!)),
    clients: Object.fromEntries([...clients, ...otherHolders]),
  };
}

/* oxlint-disable no-explicit-any -- answers, whose shape docs/openapi.yaml holds */
const shownBinding = ({ activated_at, ended_at, release_requested_at, release_declined, ...rest }: any) => ({
  ...rest,
  activated_at: time(activated_at),
  ended_at: time(ended_at),
  ...(release_requested_at !== undefined && {
    release_requested_at: time(release_requested_at),
    release_declined_at: release_declined && time(release_declined.declined_at),
  }),
});

const shownCommon = ({ status, expires_at, on_expiry, machines_allowed, machines_in_use }: any) => ({
  status,
  expires_at: time(expires_at),
  on_expiry,
  machines_allowed,
  machines_in_use,
});

/** What staff are shown of a license. */
export const shownToStaff = (license: any) => ({
  ...shownCommon(license),
  email: license.email,
  staff_status: license.staff_status,
  purchase: license.purchase?.state ?? null,
  activations: license.activations.map(shownBinding),
  requested: sorted(
    license.release_requests.map(({ activation_id, asked_at, decision, decided_at }: any) => ({
      activation_id,
      at: time(asked_at),
      decision,
      decided_at: time(decided_at),
    })),
  ),
});

/** What a holder is shown of a license. */
export const shownToHolder = (license: any) => ({
  ...shownCommon(license),
  self_releases_left: license.self_releases_left,
  activations: license.activations.map(shownBinding),
});
/* oxlint-enable no-explicit-any */

// Copies both to one realm, because objects of a test have other prototypes than those of structuredClone.
const isSame = (a: unknown, b: unknown) => isDeepStrictEqual(structuredClone(a), structuredClone(b));

const sorted = (all: object[]) =>
  all.map((each) => JSON.stringify(each, Object.keys(each).toSorted())).toSorted();

/**
 * Finds an order of concurrent commands in which each gets its observed response and the result is the observed state.
 * @returns the state of the model after it; undefined if there is no such order
 */
export function explained(
  state: ModelState,
  observed: readonly Observed[],
  shown: Views,
  holders: readonly string[],
): ModelState | undefined {
  if (observed.every((each) => each.outcome === null)) {
    const ended = named(state, shown);
    if (isSame(expectedViews(ended, holders, shown), shown)) return ended;
  }
  for (const each of observed) {
    const after = structuredClone(state);
    const answer = step(after, each.command, each.outcome ?? undefined);
    if (each.outcome && !isSame(answer, each.outcome)) continue;
    const found = explained(
      after,
      observed.filter((other) => other !== each),
      shown,
      holders,
    );
    if (found) return found;
  }
  return undefined;
}

/** A binding whose response was lost gets the id that the views show. */
function named(state: ModelState, { staff }: Views): ModelState {
  const after = structuredClone(state);
  for (const [of, { bindings }] of after.licenses.entries()) {
    const ids = (staff[of] as { activations: { id: string }[] } | null)?.activations.map(({ id }) => id);
    const unknown = ids?.filter((id) => bindings.every((binding) => binding.id !== id)) ?? [];
    for (const binding of bindings) if (binding.id === '?') binding.id = unknown.shift() ?? '?';
  }
  return after;
}
