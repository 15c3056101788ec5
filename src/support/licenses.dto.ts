import { validate as isUuid } from 'uuid';
import { emailRule, licenseKeyRule, textRule } from '../activation/activation.dto.js';
import type { LicenseQuery } from '../activation/license-overview.js';
import { reasonRule } from '../audit/reason.rules.js';
import { parseMoment } from '../core/clock.js';
import type { OnExpiry } from '../core/config.js';
import { Member } from '../http/parsing/members.pipe.js';
import { invalidMembers } from '../http/problems/problem.js';
import { canonicalEmail } from '../licenses/email.js';
import type { StaffStatus } from '../licenses/license.rules.js';
import type { LicenseChange, NewLicense } from '../licenses/licenses.service.js';
import { oneOf, optional } from '../audit/reason.dto.js';

const SEARCH_MEMBERS = ['email', 'license_key', 'transaction_id', 'activation_id'];
const CHANGE_MEMBERS = ['machines_allowed', 'expires_at', 'status', 'on_expiry', 'email'];

/** Body of `POST /support/api/licenses/search`: exactly one of the four. */
export class SearchRequest {
  @Member(optional(emailRule))
  email?: string;

  @Member(optional(licenseKeyRule))
  license_key?: string;

  @Member(optional(textRule((value) => value !== '' && value.length <= 200, 'must be a transaction id')))
  transaction_id?: string;

  @Member(optional(textRule(isUuid, 'must be an activation id')))
  activation_id?: string;
}

/** Body of `POST /support/api/licenses`. */
export class IssueRequest {
  @Member(emailRule)
  email!: string;

  @Member(optional(machinesRule))
  machines_allowed?: number;

  @Member(optional(expiryRule))
  expires_at?: string | null;

  @Member(optional(oneOf(['keep', 'stop'])))
  on_expiry?: OnExpiry;
}

/** Body of `PATCH /support/api/licenses/{id}`: a reason and at least one change. */
export class LicenseChangeRequest {
  @Member(optional(machinesRule))
  machines_allowed?: number;

  @Member(optional(expiryRule))
  expires_at?: string | null;

  @Member(optional(oneOf(['active', 'suspended', 'revoked'])))
  status?: StaffStatus;

  @Member(optional(oneOf(['keep', 'stop'])))
  on_expiry?: OnExpiry;

  @Member(optional(emailRule))
  email?: string;

  @Member(reasonRule)
  reason!: string;
}

export function toLicenseQuery({
  email,
  license_key,
  transaction_id,
  activation_id,
}: SearchRequest): LicenseQuery {
  const given: LicenseQuery = {
    ...(email !== undefined && { email: canonicalEmail(email)! }),
    ...(license_key !== undefined && { license_key }),
    ...(transaction_id !== undefined && { transaction_id }),
    ...(activation_id !== undefined && { activation_id }),
  };
  const names = Object.keys(given);
  if (names.length === 1) return given;
  throw createProblem(
    names.length > 0 ? names : SEARCH_MEMBERS,
    `give exactly one of ${SEARCH_MEMBERS.join(', ')}`,
  );
}

export function toNewLicense({ email, ...request }: IssueRequest): NewLicense {
  return { email: canonicalEmail(email)!, ...toTerms(request) };
}

export function toLicenseChange({ status, email, ...request }: LicenseChangeRequest): LicenseChange {
  const change: LicenseChange = {
    ...toTerms(request),
    ...(status !== undefined && { staff_status: status }),
    ...(email !== undefined && { email: canonicalEmail(email)! }),
  };
  if (Object.keys(change).length > 0) return change;
  throw createProblem(CHANGE_MEMBERS, `give at least one of ${CHANGE_MEMBERS.join(', ')}`);
}

/** Returns only the members that the request contains: others keep their value or the default of the settings. */
function toTerms({ machines_allowed, expires_at, on_expiry }: Omit<IssueRequest, 'email'>) {
  return {
    ...(machines_allowed !== undefined && { machines_allowed }),
    ...(expires_at !== undefined && { expires_at: expires_at === null ? null : parseMoment(expires_at)! }),
    ...(on_expiry !== undefined && { on_expiry }),
  };
}

function createProblem(names: readonly string[], sentence: string) {
  return invalidMembers(Object.fromEntries(names.map((name) => [name, sentence])));
}

function machinesRule(value: unknown): string | undefined {
  const isValid = Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 100_000;
  return isValid ? undefined : 'must be a whole number from 1 to 100000';
}

function expiryRule(value: unknown): string | undefined {
  if (value === null || (typeof value === 'string' && parseMoment(value))) return undefined;
  return 'must be null, a day such as 2027-01-04, or a time such as 2027-01-04T12:00:00Z';
}
