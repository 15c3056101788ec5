import { Invalid } from '../core/field.js';
import { STAFF_STATUSES, type PurchaseState, type StaffStatus } from '../licenses/license.rules.js';
import { higherState } from '../purchases/purchase.rules.js';

/** What the words of a row say about a license. */
interface ReadStatus {
  readonly staff_status: StaffStatus;
  readonly purchase_state: PurchaseState;
  readonly isExpired: boolean;
}

const ACTIVE: ReadStatus = { staff_status: 'active', purchase_state: 'paid', isExpired: false };
const OUTCOMES = {
  active: ACTIVE,
  expired: { ...ACTIVE, isExpired: true },
  suspended: { ...ACTIVE, staff_status: 'suspended' },
  revoked: { ...ACTIVE, staff_status: 'revoked' },
  refunded: { ...ACTIVE, purchase_state: 'refunded' },
  disputed: { ...ACTIVE, purchase_state: 'disputed' },
  'dispute won': { ...ACTIVE, purchase_state: 'dispute_won' },
  unpaid: new Invalid('says that nothing was paid, so there is no license to import'),
} as const satisfies Record<string, ReadStatus | Invalid>;

/**
 * The words of the exports, in lower case, by their meaning. `inactive` has no machine yet (Lemon Squeezy), or was not used for 90
 * days (Keygen). `disabled` and `suspended` can be undone by the seller, so they become `suspended`, which staff can undo too.
 */
const WORDS: Readonly<Record<keyof typeof OUTCOMES, readonly string[]>> = {
  active: [
    'active', 'inactive', 'enabled', 'valid', 'expiring', 'paid', 'completed', 'complete', 'succeeded', 'successful',
    'partial refund', 'partially refunded',
  ],
  expired: ['expired'],
  suspended: ['suspended', 'disabled', 'paused'],
  revoked: ['revoked', 'banned'],
  refunded: ['refunded', 'fraudulent'],
  disputed: ['disputed', 'chargeback'],
  'dispute won': ['dispute won'],
  unpaid: ['pending', 'failed', 'unpaid', 'draft'],
}; // prettier-ignore
const OUTCOME_OF = new Map(
  Object.entries(WORDS).flatMap(([outcome, words]) =>
    words.map((word) => [word, OUTCOMES[outcome as keyof typeof OUTCOMES]] as const),
  ),
);
const UNKNOWN = new Invalid(`is unknown; known are ${[...OUTCOME_OF.keys()].join(', ')}`);

/** The form in which words are compared: `Partially_Refunded` is `partially refunded`. */
export const statusWord = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();

/** Combines the words of a row, in the form of `statusWord`: the strictest status and the highest state of the purchase count. */
export function readStatus(words: readonly string[]): ReadStatus | Invalid {
  let status = ACTIVE;
  for (const word of words) {
    const read = OUTCOME_OF.get(word) ?? UNKNOWN;
    if (read instanceof Invalid) return read;
    status = {
      staff_status: stricter(status.staff_status, read.staff_status),
      purchase_state: higherState(status.purchase_state, read.purchase_state),
      isExpired: status.isExpired || read.isExpired,
    };
  }
  return status;
}

/** `STAFF_STATUSES` lists them from the mildest to the strictest. */
function stricter(a: StaffStatus, b: StaffStatus): StaffStatus {
  return STAFF_STATUSES.indexOf(a) > STAFF_STATUSES.indexOf(b) ? a : b;
}
