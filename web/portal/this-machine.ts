import type { HolderActivation, HolderLicensesAnswer } from '../../src/http/responses/api-types.js';
import { findActivation } from './holder.js';
import { hasPlaceForWaitingMachine, hasWaitingMachine, memberOfUrl } from './release-link.js';

/** Whether the application opened the page for this machine: `/portal/#activation=<id>`. */
export const isThisMachine = ({ id }: HolderActivation): boolean => activationIdOfUrl() === id;

/** Whether the application opened the page for a machine that is on none of the licenses shown. */
export const isOpenedForUnknownMachine = (holder: HolderLicensesAnswer): boolean =>
  activationIdOfUrl() !== null && !findThisMachine(holder);

/**
 * The id of the element that gets the focus: the machine or the license for which the application opened the page, or the headline
 * if a place is free. Undefined if the page was opened for neither, or shows neither.
 */
export function elementToFocus(holder: HolderLicensesAnswer): string | undefined {
  const machine = findThisMachine(holder);
  const license = holder.licenses.find(hasWaitingMachine);
  if (license && hasPlaceForWaitingMachine(license)) return 'headline';
  return machine ? `name-${machine.id}` : license && `license-${license.id}`;
}

/** An application may write the id in upper case; the service writes ids in lower case. */
const activationIdOfUrl = () => memberOfUrl('activation')?.toLowerCase() ?? null;

const findThisMachine = (holder: HolderLicensesAnswer) => findActivation(holder, activationIdOfUrl());
