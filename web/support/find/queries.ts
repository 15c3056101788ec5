import { MAX_TRANSACTION_ID_LENGTH } from '../../../src/fields/max-transaction-id-length.js';
import { readLicenseKey } from '../../../src/keys/license-key-text.js';
import { readPreviousKey } from '../../../src/keys/previous-key-text.js';
import { withoutSeparators } from '../../../src/keys/typed-text.js';

/** The members of a search (`LicenseSearch` in docs/openapi.yaml). */
export type QueryKind = 'email' | 'license_key' | 'license_id' | 'transaction_id' | 'activation_id';

/** One member of a search, with the text to send. */
interface Query {
  readonly kind: QueryKind;
  readonly text: string;
}

// The service refuses a UUID of another version or variant, which may be a transaction id.
const UUID = /^([0-9a-f]{8})([0-9a-f]{4})([1-8][0-9a-f]{3})([89ab][0-9a-f]{3})([0-9a-f]{12})$/i;
// Labels before an id, such as `id:` or `urn:uuid:`. A text with a digit before the colon is no label.
const LABELS = /^(?:[^\p{N}:=：]*[:=：])+/u;
// What a copied address may have around it, as in `Ada <ada@example.com>`, `mailto:ada@example.com?subject=…` or quotation marks.
const BEFORE_ADDRESS = /^(?:[^@]*[:<：])?[\s\p{Cf}\p{Ps}\p{Pi}\p{Pf}"']*/u;
const AFTER_ADDRESS = /(?:[>?][^@]*|[\s\p{Cf}\p{P}\p{S}]+)$/u;

/**
 * The searches that a text may mean, by its form, in the order in which they are made. A text with `@` is searched as an e-mail
 * address only. Any other text is also searched as a transaction id, as it is, unless it is too long for one and may be a key.
 */
export function readQueries(text: string): [Query, ...Query[]] {
  // Japanese input methods type `＠` and other characters in full width.
  const address = text.includes('@') ? text : text.normalize('NFKC');
  if (address.includes('@'))
    return [{ kind: 'email', text: address.replace(BEFORE_ADDRESS, '').replace(AFTER_ADDRESS, '') }];
  const id = UUID.exec(withoutSeparators(text.replace(LABELS, '')))
    ?.slice(1)
    .join('-');
  const isKey = readLicenseKey(text) !== null;
  // Any text that is long enough may be the key that another system issued before an import. Some systems have UUIDs as keys.
  const isPreviousKey = !isKey && readPreviousKey(text) !== null;
  // The service refuses a longer transaction id. A key may be longer, or be in a longer text, such as its mail.
  const isOnlyKey = text.length > MAX_TRANSACTION_ID_LENGTH && (isKey || isPreviousKey);
  const key: Query = { kind: 'license_key', text };
  const queries = [
    ...(id ? (['activation_id', 'license_id'] as const).map((kind) => ({ kind, text: id })) : []),
    isKey && key,
    !isOnlyKey && ({ kind: 'transaction_id', text } as const),
    isPreviousKey && key,
  ];
  return queries.filter((query) => query !== false) as [Query, ...Query[]];
}
