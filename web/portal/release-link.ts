import type { HolderActivation, HolderLicense } from '../../src/http/responses/api-types.js';
import { serviceTime } from '../shared/dates/service-time.js';
import { freePlaces, isUsable } from './holder.js';

/**
 * The longest label of an activation (100 characters of at most two units each), and the characters of a version. A link that the
 * service did not make may have any text.
 */
const MAX_LABEL_UTF16_UNITS = 200;
const VERSION = /^[\d.]{1,32}$/;

/** How long a hint is valid, and how long after that the page still shows what it was opened for. */
const LIFETIME_MS = 10 * 60_000;

/**
 * The hint with which the application opened the page after the machine limit refused an activation: `/portal/#release=<hint>&…`
 * (docs/contract.md#activate). Null if the URL has none, and from ten minutes after the hint has expired.
 */
export function releaseHint(): string | null {
  const hint = memberOfUrl('release');
  return hint !== null && serviceTime() > issuedAt(hint) + 2 * LIFETIME_MS ? null : hint;
}

/** The machine that the application could not activate, as the link describes it; null if the link has no valid version. */
export function waitingMachine() {
  const version = memberOfUrl('version') ?? '';
  const hostname_hint = memberOfUrl('machine')?.slice(0, MAX_LABEL_UTF16_UNITS) ?? null;
  return VERSION.test(version) ? { hostname_hint, version } : null;
}

/** A member of the fragment of the URL, which a `release_url`, the application or a mail has put there; null if it is missing. */
export const memberOfUrl = (name: string) => new URLSearchParams(location.hash.slice(1)).get(name);

/** A hint has the license id, the time of its expiry in Unix seconds, and a signature, with dots between. */
const issuedAt = (hint: string) => Number(hint.split('.')[1]) * 1000 - LIFETIME_MS;

/** Whether the application opened the page for a machine that waits for a place of this license. */
export const hasWaitingMachine = ({ id }: Pick<HolderLicense, 'id'>) => releaseHint()?.split('.')[0] === id;

/**
 * The activation of the waiting machine, if it is newer than the hint: no place has to be freed any more. The link has no machine
 * id, so the label is compared. If `waitingMachine` cannot read the link, each newer activation counts.
 */
export function activationSinceHint({ activations }: HolderLicense): HolderActivation | undefined {
  const hint = releaseHint();
  const label = waitingMachine()?.hostname_hint;
  return activations.find(
    ({ state, activated_at, hostname_hint }) =>
      hint &&
      state === 'active' &&
      Date.parse(activated_at) > issuedAt(hint) &&
      (label === undefined || label === hostname_hint),
  );
}

/** Whether the machine that the application could not activate is still not active, and a place of the license is free for it. */
export const hasPlaceForWaitingMachine = (license: HolderLicense) =>
  hasWaitingMachine(license) && isUsable(license) && freePlaces(license) > 0 && !activationSinceHint(license);
