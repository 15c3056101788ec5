import { textField } from '../core/field.js';
import { characterCount } from '../core/text.js';
import { MAX_TRANSACTION_ID_LENGTH } from './max-transaction-id-length.js';

/** The id that the payment processor gives to a transaction. */
export const transactionIdField = textField(
  `must be a string of 1 to ${MAX_TRANSACTION_ID_LENGTH} characters, without spaces or control characters`,
  (text) => (/^[^\s\p{Cc}]+$/u.test(text) && characterCount(text) <= MAX_TRANSACTION_ID_LENGTH ? text : null),
);
