import { Invalid, oneOf, type Field } from '../core/field.js';
import { emailField } from '../fields/email.js';
import { transactionIdField } from '../fields/transaction-id.js';
import { Member } from '../http/parsing/member.js';
import type { PurchaseState } from '../licenses/license.rules.js';
import { PURCHASE_STATES } from './purchase.rules.js';

const buyerEmail: Field<string> = {
  parse: (input) =>
    input === undefined
      ? new Invalid('must be an e-mail address; it is required with the status `paid`')
      : emailField.parse(input),
};

/** Body of `POST /v1/purchases` (docs/contract.md#purchases). Other members are ignored. */
export class PurchaseReport {
  @Member(transactionIdField)
  transaction_id!: string;

  @Member(oneOf(PURCHASE_STATES))
  status!: PurchaseState;

  // The address is read with `paid` only, because an invalid one must not fail the report of a refund.
  @Member(buyerEmail, { when: ({ status }: PurchaseReport) => status === 'paid' })
  email?: string;
}
