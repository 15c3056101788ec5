import type { LicenseQuery } from '../../activation/license-overview.js';
import type { OnExpiry } from '../../core/config.js';
import { oneOf, optional, textField } from '../../core/field.js';
import { definedMembers } from '../../core/json-object.js';
import { characterCount } from '../../core/text.js';
import { emailField } from '../../fields/email.js';
import { licenseKeyOrPreviousField } from '../../fields/license-key.js';
import { expiryField, machinesAllowedField, onExpiryField } from '../../fields/license-terms.js';
import { MAX_TRANSACTION_ID_LENGTH } from '../../fields/max-transaction-id-length.js';
import { reasonField } from '../../fields/reason.js';
import { uuidField } from '../../fields/uuid.js';
import { Member } from '../../http/parsing/member.js';
import { invalidMembers } from '../../http/problems/problem.js';
import { LicenseKeys } from '../../keys/license-keys.js';
import { STAFF_STATUSES, type StaffStatus } from '../../licenses/license.rules.js';
import type { LicenseChange, NewLicense } from '../../licenses/licenses.service.js';

const SEARCH_MEMBERS = ['email', 'license_key', 'license_id', 'transaction_id', 'activation_id'] as const;
const CHANGE_MEMBERS = ['machines_allowed', 'expires_at', 'status', 'on_expiry', 'email'];

// Staff paste transaction ids from other systems. The search accepts any text that is not too long, also with spaces.
const searchedTransactionId = textField('must be a transaction id', (text) =>
  text !== '' && characterCount(text) <= MAX_TRANSACTION_ID_LENGTH ? text : null,
);

/** Body of `POST /support/api/licenses/search`: exactly one of its members. */
export class SearchRequest {
  @Member(optional(emailField))
  email?: string;

  @Member(optional(licenseKeyOrPreviousField))
  license_key?: string;

  @Member(optional(searchedTransactionId))
  transaction_id?: string;

  @Member(optional(uuidField('must be a UUID')))
  license_id?: string;

  @Member(optional(uuidField('must be a UUID')))
  activation_id?: string;
}

/** Body of `POST /support/api/licenses`. */
export class IssueRequest implements NewLicense {
  @Member(emailField)
  email!: string;

  @Member(optional(machinesAllowedField))
  machines_allowed?: number;

  @Member(optional(expiryField))
  expires_at?: Date | null;

  @Member(optional(onExpiryField))
  on_expiry?: OnExpiry;
}

/** Body of `PATCH /support/api/licenses/{id}`: a reason and at least one change. */
export class LicenseChangeRequest {
  @Member(optional(machinesAllowedField))
  machines_allowed?: number;

  @Member(optional(expiryField))
  expires_at?: Date | null;

  @Member(optional(oneOf(STAFF_STATUSES)))
  status?: StaffStatus;

  @Member(optional(onExpiryField))
  on_expiry?: OnExpiry;

  @Member(optional(emailField))
  email?: string;

  @Member(reasonField)
  reason!: string;
}

/** @throws Problem `invalid_request` unless the request has exactly one member */
export function toLicenseQuery(request: SearchRequest, keys: LicenseKeys): LicenseQuery {
  const { email, license_key, license_id, transaction_id, activation_id } = request;
  const key = license_key === undefined ? undefined : keys.hashesOfTyped(license_key);
  const query: LicenseQuery = definedMembers({ email, key, id: license_id, transaction_id, activation_id });
  if (Object.keys(query).length === 1) return query;
  const names = SEARCH_MEMBERS.filter((name) => request[name] !== undefined);
  throw invalidMembersWith(
    names.length > 0 ? names : SEARCH_MEMBERS,
    `give exactly one of ${SEARCH_MEMBERS.join(', ')}`,
  );
}

/** Returns the columns to change; the others keep their values. @throws Problem `invalid_request` if the request changes none */
export function toLicenseChange(request: LicenseChangeRequest): LicenseChange {
  const { machines_allowed, expires_at, on_expiry, status: staff_status, email } = request;
  const change: LicenseChange = definedMembers({
    machines_allowed,
    expires_at,
    on_expiry,
    staff_status,
    email,
  });
  if (Object.keys(change).length > 0) return change;
  throw invalidMembersWith(CHANGE_MEMBERS, `give at least one of ${CHANGE_MEMBERS.join(', ')}`);
}

/** Creates a problem that gives the same sentence for each of the members. */
function invalidMembersWith(names: readonly string[], sentence: string) {
  return invalidMembers(Object.fromEntries(names.map((name) => [name, sentence])));
}
