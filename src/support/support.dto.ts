import { emailRule, licenseKeyRule, text } from '../activation/activation.dto.js';
import { Member } from '../http/members.pipe.js';
import { reasonRule } from '../audit/reason.rules.js';
import { validate as isUuid } from 'uuid';

const optional = (rule: (value: unknown) => string | undefined) => (value: unknown) =>
  value === undefined ? undefined : rule(value);

/** Body of `POST /support/api/licenses/search`: exactly one of the four. */
export class SearchRequest {
  @Member(optional(emailRule))
  email?: string;

  @Member(optional(licenseKeyRule))
  license_key?: string;

  @Member(optional(text((value) => value !== '' && value.length <= 200, 'must be a transaction id')))
  transaction_id?: string;

  @Member(optional(text(isUuid, 'must be an activation id')))
  activation_id?: string;
}

/** Body of `POST /support/api/erasures`. */
export class ErasureRequest {
  @Member(emailRule)
  email!: string;

  @Member(reasonRule)
  reason!: string;
}

/** Body of `POST /support/api/activations/:id/release`. */
export class ReleaseRequest {
  @Member(reasonRule)
  reason!: string;
}
