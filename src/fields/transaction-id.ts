import { textField } from '../core/field.js';

const MAX_TRANSACTION_ID_LENGTH = 200;

/** The id that the payment processor gives to a transaction. */
export const transactionIdField = textField(
  `must be a string of 1 to ${MAX_TRANSACTION_ID_LENGTH} characters, without spaces`,
  (text) => (/^[^\s\p{Cc}]+$/u.test(text) && text.length <= MAX_TRANSACTION_ID_LENGTH ? text : null),
);
