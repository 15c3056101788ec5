import { Member } from '../http/parsing/members.pipe.js';
import { canonicalEmail } from '../licenses/email.js';
import type { PurchaseState } from '../licenses/license.rules.js';
import { PURCHASE_STATES } from './purchase.rules.js';

const MAX_TRANSACTION_ID_LENGTH = 200;

/** @returns the violated rule for a transaction id, or undefined */
export function transactionIdRule(value: unknown): string | undefined {
  const isValid =
    typeof value === 'string' && /^[^\s\p{Cc}]+$/u.test(value) && value.length <= MAX_TRANSACTION_ID_LENGTH;
  return isValid
    ? undefined
    : `must be a string of 1 to ${MAX_TRANSACTION_ID_LENGTH} characters, without spaces`;
}

/** Body of `POST /v1/purchases` (docs/contract.md#purchases). Other members are ignored. */
export class PurchaseReport {
  @Member(transactionIdRule)
  transaction_id!: string;

  @Member((value) =>
    PURCHASE_STATES.includes(value as PurchaseState)
      ? undefined
      : `must be one of ${PURCHASE_STATES.join(', ')}`,
  )
  status!: PurchaseState;

  // Validated with `paid` only: an invalid address must not fail the report of a refund.
  @Member<PurchaseReport>((value, { status }) => (status === 'paid' ? buyerEmailRule(value) : undefined), {
    storable: () => true,
  })
  email?: string;
}

/** @returns the violated rule for the e-mail of a `paid` report, or undefined */
export function buyerEmailRule(value: unknown): string | undefined {
  const isValid = typeof value === 'string' && canonicalEmail(value) !== null;
  return isValid ? undefined : 'must be an e-mail address: with paid it is required';
}
