import { optional, textField } from '../core/field.js';
import { emailField } from '../fields/email.js';
import { licenseKeyField } from '../fields/license-key.js';
import { optionalReasonField } from '../fields/reason.js';
import { Member } from '../http/parsing/member.js';

/** A mailed code. People group its digits with spaces and dashes. */
const signInCode = textField('must be 8 digits', (text) => {
  const digits = text.replaceAll(/[\s\p{Pd}]/gu, '');
  return /^[0-9]{8}$/.test(digits) ? digits : null;
});

/** Body of `POST /portal/api/session`: an e-mail address with a license key, or with a mailed code. */
export class SignInRequest {
  @Member(emailField)
  email!: string;

  @Member(optional(licenseKeyField), { rule: requireExactlyOne })
  license_key?: string;

  @Member(optional(signInCode), { rule: requireExactlyOne })
  code?: string;
}

/** Body of `POST /portal/api/session/code`. */
export class CodeRequest {
  @Member(emailField)
  email!: string;
}

/** Body of `POST /portal/api/activations/:id/release-request`. */
export class ReleaseRequestBody {
  @Member(optionalReasonField)
  reason?: string | null;
}

/** Checks that a request has either a license key or a code. */
function requireExactlyOne({ license_key, code }: SignInRequest): string | undefined {
  return (license_key === undefined) === (code === undefined) ? 'give either license_key or code' : undefined;
}
