import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { setTitle } from '../shared/page/brand.js';
import { formatNumber, plural } from '../shared/dates/dates.js';
import { fill, UntrustedText, t } from '../shared/texts/text.js';
import type { HolderLicensesAnswer, HolderLicense } from '../../src/http/responses/api-types.js';
import { displayStatus, freePlaces, isUsable } from './holder.js';
import { Places } from './places.js';
import { hasPlaceForWaitingMachine } from './release-link.js';
import { messages } from './messages.js';

/** Of more keys, the sentence below the headline names only the first. The section of each license shows its free places. */
const MAX_HINTS = 5;

/**
 * The heading of the page, such as "1 of 1 machines in use", and whether another machine can be activated. Once a place is free for
 * the machine that the application could not activate, both lead back to the application instead.
 */
export function Summary({ holder }: { holder: HolderLicensesAnswer }) {
  const isFreed = holder.licenses.some(hasPlaceForWaitingMachine);
  const headline = isFreed ? messages.freeAPlace.free : headlineOf(holder.licenses);
  const lead = isFreed ? messages.freeAPlace.freeLead : leadOf(holder);
  const onlyLicense = holder.licenses.length === 1 && !isFreed && holder.licenses[0];
  useEffect(() => setTitle(headline), [headline]);
  return (
    <>
      <h1 id="headline">{headline}</h1>
      {onlyLicense && isUsable(onlyLicense) && (
        <Places used={onlyLicense.machines_in_use} allowed={onlyLicense.machines_allowed} />
      )}
      <p class="lead" role="status" hidden={!lead}>
        {lead}
      </p>
    </>
  );
}

export const inUseText = (used: number, allowed: number) =>
  t(messages.summary.inUse, { used: formatNumber(used), allowed: formatNumber(allowed) });

const sumOf = (licenses: readonly HolderLicense[], valueOf: (license: HolderLicense) => number) =>
  licenses.reduce((sum, license) => sum + valueOf(license), 0);

function headlineOf(licenses: readonly HolderLicense[]): string {
  const [first, ...others] = licenses;
  if (!first) return messages.summary.noLicense;
  const usable = licenses.filter(isUsable);
  if (usable.length > 0) {
    const text = inUseText(
      sumOf(usable, ({ machines_in_use }) => machines_in_use),
      sumOf(usable, ({ machines_allowed }) => machines_allowed),
    );
    return usable.length < licenses.length ? t(messages.summary.ofWorking, { inUse: text }) : text;
  }
  if (others.length > 0) return messages.summary.noneWorks;
  return messages.summary.ended[displayStatus(first) as keyof typeof messages.summary.ended];
}

/** Says how many more machines can be used and, with several licenses, which of their keys a new machine can use. */
function freeText(free: number, licenses: readonly HolderLicense[]): string {
  if (licenses.length === 1) return plural(free, messages.summary.free);
  const withPlace = licenses.filter((license) => isUsable(license) && freePlaces(license) > 0);
  const forms = withPlace.length === 1 ? messages.summary.freeWithKey : messages.summary.freeWithKeys;
  const hints = withPlace.map(({ key_hint }) => key_hint);
  if (hints.length > MAX_HINTS) hints.splice(MAX_HINTS, Infinity, '…');
  return t(plural(free, forms), { hints: hints.join(', ') });
}

/** Says whether another machine can be activated, and how many have to be released first; empty if there is nothing to say. */
function leadOf({ email, licenses }: HolderLicensesAnswer): ComponentChildren {
  if (licenses.length === 0)
    return fill(messages.summary.noLicenseLead, { email: <UntrustedText text={email} /> });
  const usable = licenses.filter(isUsable);
  if (usable.length === 0) return '';
  const used = sumOf(usable, ({ machines_in_use }) => machines_in_use);
  // The section of a license that is not active anywhere says what to do.
  if (used === 0) return '';
  const free = sumOf(usable, freePlaces);
  if (free > 0) return freeText(free, licenses);
  const toRelease = Math.min(
    ...usable.map(({ machines_in_use, machines_allowed }) => machines_in_use - machines_allowed + 1),
  );
  return toRelease > 1
    ? t(messages.summary.over, { count: formatNumber(toRelease) })
    : plural(used, messages.summary.full);
}
