export type QueryKind = 'email' | 'license_key' | 'transaction_id' | 'activation_id';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
// As the service reads keys: typed in any case, O for 0 and I or L for 1.
const LICENSE_KEY = /^[A-Z0-9]{2,12}_[0-9A-Z]{4}(-[0-9A-Z]{4}){3}$/i;

/** Which of the four a text is, by its form: what looks like none of the others is a transaction id. */
export function kindOfQuery(text: string): QueryKind {
  if (text.includes('@')) return 'email';
  if (UUID.test(text)) return 'activation_id';
  if (LICENSE_KEY.test(text)) return 'license_key';
  return 'transaction_id';
}
