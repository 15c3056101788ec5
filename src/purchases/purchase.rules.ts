import type { PurchaseState } from '../licenses/license.rules.js';

/** Ordered by rank: the highest reported state wins, in any order of reports (docs/contract.md#purchases). */
export const PURCHASE_STATES: readonly PurchaseState[] = ['paid', 'disputed', 'dispute_won', 'refunded'];

export function higherState(a: PurchaseState, b: PurchaseState): PurchaseState {
  return PURCHASE_STATES.indexOf(a) > PURCHASE_STATES.indexOf(b) ? a : b;
}
