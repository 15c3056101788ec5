import { emailRule, licenseKeyRule } from '../activation/activation.dto.js';
import { reasonRule } from '../audit/reason.rules.js';
import { Member } from '../http/parsing/members.pipe.js';

/** Body of `POST /portal/api/session`: an e-mail address with a license key, or with a mailed code. */
export class SignInRequest {
  @Member(emailRule)
  email!: string;

  @Member(exactlyOne('code', licenseKeyRule))
  license_key?: string;

  @Member(exactlyOne('license_key', codeRule))
  code?: string;
}

/** Body of `POST /portal/api/session/code`. */
export class CodeRequest {
  @Member(emailRule)
  email!: string;
}

/** Body of `POST /portal/api/activations/:id/release-request`. */
export class ReleaseRequestBody {
  @Member((value) => (isBlank(value) ? undefined : reasonRule(value)))
  reason?: string | null;
}

/** Removes the spaces with which users group the digits of a code. */
export function normalizeCode(code: string): string {
  return code.replaceAll(/\s/g, '');
}

export function isBlank(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '');
}

function codeRule(value: unknown): string | undefined {
  return typeof value === 'string' && /^[0-9]{8}$/.test(normalizeCode(value))
    ? undefined
    : 'must be 8 digits';
}

function exactlyOne(other: keyof SignInRequest, rule: (value: unknown) => string | undefined) {
  return (value: unknown, body: SignInRequest) => {
    if ((value === undefined) === (body[other] === undefined)) return 'give either license_key or code';
    return value === undefined ? undefined : rule(value);
  };
}
