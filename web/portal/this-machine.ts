import type { Activation } from './holder.js';

/** Whether the application opened the page for this one: `/portal/#activation=<id>`. */
export function isThisMachine({ id }: Activation): boolean {
  return new URLSearchParams(location.hash.slice(1)).get('activation') === id;
}
