import { Member } from '../http/parsing/members.pipe.js';
import { canonicalEmail } from '../licenses/email.js';
import type { PurchaseState } from '../licenses/license.rules.js';
import { PURCHASE_STATES } from './purchase.rules.js';

const MAX_TRANSACTION_ID = 200;

/** @returns what is wrong with a transaction id, or undefined */
export function transactionIdRule(value: unknown): string | undefined {
  const fits =
    typeof value === 'string' && /^[^\s\p{Cc}]+$/u.test(value) && value.length <= MAX_TRANSACTION_ID;
  return fits ? undefined : `must be a string of 1 to ${MAX_TRANSACTION_ID} characters, without spaces`;
}

/** Body of `POST /v1/purchases`: all that is read of it, whatever else it holds. */
export class PurchaseReport {
  @Member(transactionIdRule)
  transaction_id!: string;

  @Member((value) =>
    PURCHASE_STATES.includes(value as PurchaseState)
      ? undefined
      : `must be one of ${PURCHASE_STATES.join(', ')}`,
  )
  status!: PurchaseState;

  // Looked at with `paid` alone: a refund is never refused for an address.
  @Member<PurchaseReport>((value, { status }) => (status === 'paid' ? buyersEmailRule(value) : undefined), {
    storable: () => true,
  })
  email?: string;
}

/** @returns what is wrong with the e-mail of a `paid` report, or undefined */
export function buyersEmailRule(value: unknown): string | undefined {
  const fits = typeof value === 'string' && canonicalEmail(value) !== null;
  return fits ? undefined : 'must be an e-mail address: with paid it is required';
}
