import type { HolderActivation, HolderLicensesAnswer } from '../shared/api-types.js';

/** Whether the application opened the page for this one: `/portal/#activation=<id>`. */
export const isThisMachine = ({ id }: HolderActivation): boolean => namedActivation() === id;

/** Whether the application opened the page for a machine that is on none of the licenses. */
export const isAnotherMachine = (holder: HolderLicensesAnswer): boolean =>
  namedActivation() !== null && !thisMachine(holder);

/** The id of the element that shows the machine for which the application opened the page. */
export function thisMachineElement(holder: HolderLicensesAnswer): string | undefined {
  const found = thisMachine(holder);
  return found && `name-${found.id}`;
}

const namedActivation = () => new URLSearchParams(location.hash.slice(1)).get('activation');

const thisMachine = ({ licenses }: HolderLicensesAnswer) =>
  licenses.flatMap(({ activations }) => activations).find(isThisMachine);
