import type { HolderActivation } from '../shared/api-types.js';

/** Whether the application opened the page for this one: `/portal/#activation=<id>`. */
export function isThisMachine({ id }: HolderActivation): boolean {
  return new URLSearchParams(location.hash.slice(1)).get('activation') === id;
}
