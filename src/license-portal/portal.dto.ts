import { optional, textField } from '../core/field.js';
import { emailField } from '../fields/email.js';
import { licenseKeyOrPreviousField } from '../fields/license-key.js';
import { optionalReasonField } from '../fields/reason.js';
import { licenseIdOfHint } from '../keys/release-hint.js';
import { readSignInCode } from '../keys/typed-text.js';
import { Member, OptionalBody } from '../http/parsing/member.js';

const signInCode = textField('must be 8 digits', readSignInCode);

const releaseHint = textField('must be the value of release in the fragment of a release_url', (text) =>
  licenseIdOfHint(text) === null ? null : text,
);

/** Body of `POST /portal/api/session`: a license key with its e-mail address, or a mailed code with or without an address. */
export class SignInRequest {
  @Member(emailField, {
    when: ({ email, code }: Partial<SignInRequest>) => email !== undefined || code === undefined,
  })
  email?: string;

  @Member(optional(licenseKeyOrPreviousField), { rule: requireExactlyOne })
  license_key?: string;

  @Member(optional(signInCode), { rule: requireExactlyOne })
  code?: string;
}

/** Body of `POST /portal/api/session/code`: an e-mail address, or the hint in the `release_url` of a refused activation. */
export class CodeRequest {
  @Member(emailField, {
    when: ({ email, hint }: Partial<CodeRequest>) => email !== undefined || hint === undefined,
  })
  email?: string;

  @Member(optional(releaseHint), { rule: refuseEmailWithHint })
  hint?: string;
}

/** Body of `POST /portal/api/activations/:id/release-request`. */
export class ReleaseRequestBody {
  @Member(optionalReasonField)
  reason?: string | null;
}

/**
 * Body of `POST /portal/api/erasure`: the address that the page showed when the holder confirmed the erasure. All tabs
 * of a browser share one session, so another holder may have signed in since then; the request is then refused.
 */
@OptionalBody()
export class ErasureConfirmationRequest {
  @Member(optional(emailField))
  email?: string;
}

/** Checks that a request does not have both an e-mail address and a hint. */
function refuseEmailWithHint({ email, hint }: CodeRequest): string | undefined {
  return email !== undefined && hint !== undefined ? 'give either email or hint' : undefined;
}

/** Checks that a request has a license key or a code, but not both. */
function requireExactlyOne({ license_key, code }: SignInRequest): string | undefined {
  return (license_key === undefined) === (code === undefined) ? 'give either license_key or code' : undefined;
}
