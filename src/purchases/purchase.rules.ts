import type { PurchaseState } from '../licenses/license.rules.js';

/**
 * The states by rank, the lowest first. The highest reported state counts, in any order of reports (docs/contract.md#purchases).
 */
export const PURCHASE_STATES: readonly PurchaseState[] = ['paid', 'disputed', 'dispute_won', 'refunded'];

/** Returns the state with the higher rank. */
export function higherState(a: PurchaseState, b: PurchaseState): PurchaseState {
  return PURCHASE_STATES.indexOf(a) > PURCHASE_STATES.indexOf(b) ? a : b;
}
