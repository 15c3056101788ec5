import type { HolderActivation, HolderLicense } from '../shared/api/api-types.js';
import { freePlaces, isUsable } from './holder.js';

/** How long a hint is valid, and how long after that the page still shows what it was opened for. */
const LIFETIME_MS = 10 * 60_000;

/**
 * The hint with which the application opened the page after the machine limit refused an activation: `/portal/#release=<hint>`
 * (docs/contract.md#activate). Null if the URL has none, and from ten minutes after the hint has expired.
 */
export function releaseHint(): string | null {
  const hint = new URLSearchParams(location.hash.slice(1)).get('release');
  return hint !== null && Date.now() > issuedAt(hint) + 2 * LIFETIME_MS ? null : hint;
}

/** A hint has the license id, the time of its expiry in Unix seconds, and a signature, with dots between. */
const issuedAt = (hint: string) => Number(hint.split('.')[1]) * 1000 - LIFETIME_MS;

/** Whether the application opened the page to free a place of this license. */
export const isToBeFreed = ({ id }: Pick<HolderLicense, 'id'>) => releaseHint()?.split('.')[0] === id;

/** The machine that was activated since the service made the hint, so that no place has to be freed for it any more. */
export function newMachine({ activations }: HolderLicense): HolderActivation | undefined {
  const hint = releaseHint();
  if (hint === null) return undefined;
  return activations.find(
    ({ state, activated_at }) => state === 'active' && Date.parse(activated_at) > issuedAt(hint),
  );
}

/** Whether a place of the license is free for the machine that the application could not activate. */
export const isFree = (license: HolderLicense) =>
  isToBeFreed(license) && isUsable(license) && freePlaces(license) > 0 && !newMachine(license);
