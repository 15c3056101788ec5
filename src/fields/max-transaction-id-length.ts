/** The longest transaction id of a payment processor. The support page uses this file too, so it imports nothing. */
export const MAX_TRANSACTION_ID_LENGTH = 200;
