import type { PurchaseState } from '../licenses/license.rules.js';

/** In rank: a purchase is what the highest report of it said, so order and repetition change nothing (contract, section 2). */
export const PURCHASE_STATES: readonly PurchaseState[] = ['paid', 'disputed', 'dispute_won', 'refunded'];

export function higherState(a: PurchaseState, b: PurchaseState): PurchaseState {
  return PURCHASE_STATES.indexOf(a) > PURCHASE_STATES.indexOf(b) ? a : b;
}
