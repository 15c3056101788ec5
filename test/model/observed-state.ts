import { expect } from '@jest/globals';
import { isDeepStrictEqual } from 'node:util';
import type { Answer } from '../support/harness.js';
import {
  activeOf,
  toWholeSecond,
  isOfFormerHolder,
  purchaseState,
  findRefusal,
  selfReleasesLeft,
  statusOf,
  UNKNOWN_ID,
  UNRESTRICTED_VERSION,
  type Activation,
  type Command,
  type License,
  type ModelState,
  type Outcome,
} from './license-model.js';
import { step } from './license-steps.js';

/*
 * Compares the model with the service: the licenses as staff and their holders see them, and whether an order of concurrent
 * commands explains all responses and the resulting state.
 */

/**
 * A command with its response. `outcome` is null if it is unknown whether the command took effect: after a 503, and for a retention
 * run beside other commands, because it skips the rows that they lock.
 */
export interface Observed {
  readonly command: Command;
  readonly outcome: Outcome | null;
}
/** The licenses as staff, their holders and their machines see them. */
export interface Views {
  /** The licenses for staff, by their index; null for a license that is not issued yet or is deleted. */
  readonly staff: readonly unknown[];
  /** For each holder whose view was read, the holder's licenses by their index. */
  readonly holders: readonly unknown[];
  /** The result of a heartbeat of each activation, by the id of the activation. */
  readonly clients: Readonly<Record<string, string>>;
}

const parseTime = (text: string | null) => text && Date.parse(text);

/** Translates a response to the names of the model. */
export function readOutcome({ type }: Command, { status, json }: Answer): Outcome {
  if (status >= 400) {
    const { code, client_action, expired_at, machines_allowed, machines_in_use } = json;
    const members = {
      ...(expired_at && { expired_at: parseTime(expired_at) }),
      ...(code === 'machine_limit_reached' && { machines_allowed, machines_in_use }),
    };
    return { result: `${status} ${code} ${client_action}`, ...members };
  }
  const result = String(status);
  if (type === 'erase') return { result, state: json.erasure.state };
  if (type === 'decide') {
    const { decision, decided_at } = json.release_request;
    return { result, decision, decided_at: parseTime(decided_at) };
  }
  if (type === 'release' || type === 'self-release')
    return { result, state: json.activation.state, ended_at: parseTime(json.activation.ended_at) };
  if (type !== 'activate' && type !== 'heartbeat') return { result };
  const { token, offline_until, server_time, license } = json;
  const { sub, lxp, exp } = JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString());
  // The token contains the same values as the response, and is valid for seven days.
  expect([sub, lxp && lxp * 1000]).toEqual([json.activation?.id ?? sub, parseTime(license.expires_at)]);
  expect([exp * 1000, Date.parse(offline_until) - Date.parse(server_time)]).toEqual([
    parseTime(offline_until),
    7 * 86_400_000,
  ]);
  // The other members of the license are its machine limit and the number of its machines.
  const { status: _active, expires_at, ...machineCounts } = license;
  const members = { activationId: sub, expires_at: parseTime(expires_at), ...machineCounts };
  if (type === 'heartbeat') return { result, telemetry: 'telemetry' in json, ...members };
  const { activated_at, hostname_hint } = json.activation;
  return { result, hostname_hint, activated_at: parseTime(activated_at), ...members };
}

/** Sorts activations as the service lists them: active ones first, and then the newest first. */
const sortActivations = (activations: readonly Activation[]) =>
  activations.toSorted(
    (a, b) =>
      Number(a.ended !== null) - Number(b.ended !== null) ||
      b.activated_at - a.activated_at ||
      (a.id < b.id ? 1 : -1),
  );

const expectedCommonMembers = (license: License) => ({
  status: statusOf(license),
  expires_at: license.expires_at,
  on_expiry: license.on_expiry,
  machines_allowed: license.machines_allowed,
  machines_in_use: activeOf(license).length,
});

/** When staff last declined a request of the present holder; null if they never did. */
function lastDeclineAt({ email_since }: License, { requests }: Activation): number | null {
  const declines = requests.filter(
    ({ decision, at }) => decision === 'decline' && (email_since === null || at > email_since),
  );
  return declines.length > 0 ? Math.max(...declines.map(({ decided_at }) => decided_at!)) : null;
}

const expectedActivation = ({ id, hostname_hint, app_version, activated_at, ended }: Activation) => ({
  id,
  hostname_hint,
  app_version,
  activated_at,
  state: ended?.reason ?? 'active',
  ended_at: ended && toWholeSecond(ended.at),
  ended_reason: ended?.reason ?? null,
});

/** Computes the views that the service must show, for the holders and the activations that `shown` contains. */
export function expectedViews(
  { licenses, deletedActivations, now }: ModelState,
  holders: readonly string[],
  shown: Views,
): Views {
  const staff = licenses.map((license) => {
    if (!license.is_issued || license.is_deleted) return null;
    const requests = license.activations.flatMap(({ id, requests: all }) =>
      all.map(({ at, ...decided }) => ({ activation_id: id, at: toWholeSecond(at), ...decided })),
    );
    const { email, staff_status } = license;
    const activations = sortActivations(license.activations).map(expectedActivation);
    const requested = sortAsText(requests);
    return {
      ...expectedCommonMembers(license),
      email,
      staff_status,
      purchase: purchaseState(license),
      activations,
      requested,
    };
  });
  const licensesShownTo = (email: string) =>
    licenses.map((license) => {
      if (license.email !== email) return null;
      const visible = license.activations.filter((activation) => !isOfFormerHolder(license, activation));
      const activations = sortActivations(visible).map((activation) => {
        const open = activation.ended
          ? undefined
          : activation.requests.find(({ decision }) => decision === null);
        return {
          ...expectedActivation(activation),
          release_requested_at: open ? toWholeSecond(open.at) : null,
          release_declined_at: activation.ended ? null : lastDeclineAt(license, activation),
        };
      });
      return {
        ...expectedCommonMembers(license),
        self_releases_left: selfReleasesLeft(license, now),
        activations,
      };
    });
  const clients = licenses.flatMap((license) =>
    license.activations
      .filter(({ id }) => id in shown.clients)
      .map((activation) => [
        activation.id,
        findRefusal(license, activation, UNRESTRICTED_VERSION, now)?.result ?? '200',
      ]),
  );
  const unknownClients = deletedActivations
    .filter((id) => id in shown.clients)
    .map((id) => [id, '403 token_invalid reactivate']);
  return {
    staff,
    holders: shown.holders.map((_, i) => licensesShownTo(holders[i]!)),
    clients: Object.fromEntries([...clients, ...unknownClients]),
  };
}

/* oxlint-disable no-explicit-any -- responses, whose schemas are in docs/openapi.yaml */
const readActivation = ({
  activated_at,
  ended_at,
  release_requested_at,
  release_declined,
  ...rest
}: any) => ({
  ...rest,
  activated_at: parseTime(activated_at),
  ended_at: parseTime(ended_at),
  ...(release_requested_at !== undefined && {
    release_requested_at: parseTime(release_requested_at),
    release_declined_at: release_declined && parseTime(release_declined.declined_at),
  }),
});

const readCommonMembers = ({ status, expires_at, on_expiry, machines_allowed, machines_in_use }: any) => ({
  status,
  expires_at: parseTime(expires_at),
  on_expiry,
  machines_allowed,
  machines_in_use,
});

/** Translates a license in a response to staff to the names of the model. */
export const readStaffView = (license: any) => ({
  ...readCommonMembers(license),
  email: license.email,
  staff_status: license.staff_status,
  purchase: license.purchase?.state ?? null,
  activations: license.activations.map(readActivation),
  requested: sortAsText(
    license.release_requests.map(({ activation_id, asked_at, decision, decided_at }: any) => ({
      activation_id,
      at: parseTime(asked_at),
      decision,
      decided_at: parseTime(decided_at),
    })),
  ),
});

/** Translates a license in a response to its holder to the names of the model. */
export const readHolderView = (license: any) => ({
  ...readCommonMembers(license),
  self_releases_left: license.self_releases_left,
  activations: license.activations.map(readActivation),
});
/* oxlint-enable no-explicit-any */

// Both values are copied, because the objects of a test have other prototypes than those that structuredClone returns.
export const isSame = (a: unknown, b: unknown) => isDeepStrictEqual(structuredClone(a), structuredClone(b));

const sortAsText = (all: object[]) =>
  all.map((each) => JSON.stringify(each, Object.keys(each).toSorted())).toSorted();

/**
 * Finds an order of concurrent commands in which each gets its observed response and the result is the observed state.
 * @returns the state of the model after it; undefined if there is no such order
 */
export function findExplainingState(
  state: ModelState,
  observed: readonly Observed[],
  shown: Views,
  holders: readonly string[],
): ModelState | undefined {
  // If the outcome of each remaining command is unknown, they may all have had no effect.
  if (observed.every((each) => each.outcome === null)) {
    const final = withShownIds(state, shown);
    if (isSame(expectedViews(final, holders, shown), shown)) return final;
  }
  for (const each of observed) {
    const after = structuredClone(state);
    const answer = step(after, each.command, each.outcome ?? undefined);
    if (each.outcome && !isSame(answer, each.outcome)) continue;
    const found = findExplainingState(
      after,
      observed.filter((other) => other !== each),
      shown,
      holders,
    );
    if (found) return found;
  }
  return undefined;
}

/**
 * Returns the state in which activations without a known id (`UNKNOWN_ID`, after a request that was answered with 503) have the ids
 * of the views.
 */
function withShownIds(state: ModelState, { staff }: Views): ModelState {
  const after = structuredClone(state);
  for (const [licenseIndex, { activations }] of after.licenses.entries()) {
    const ids = (staff[licenseIndex] as { activations: { id: string }[] } | null)?.activations.map(
      ({ id }) => id,
    );
    const unassigned = ids?.filter((id) => activations.every((activation) => activation.id !== id)) ?? [];
    for (const activation of activations)
      if (activation.id === UNKNOWN_ID) activation.id = unassigned.shift() ?? UNKNOWN_ID;
  }
  return after;
}
