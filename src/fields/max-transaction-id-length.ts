/** The longest id that the payment processor may give to a transaction. The support page uses this file too, so it imports nothing. */
export const MAX_TRANSACTION_ID_LENGTH = 200;
