import { Member } from '../http/parsing/members.pipe.js';
import { canonicalLicenseKey } from '../keys/license-key.js';
import { isVersion } from '../keys/manifests/signed-manifest.js';
import { canonicalEmail } from '../licenses/email.js';
import { normalizeHostnameHint, isHostnameHintTooLong } from './activation-attempt.js';

/** Builds a rule for a member that must be a string. */
export const textRule = (rule: (value: string) => boolean, sentence: string) => (value: unknown) =>
  typeof value === 'string' && rule(value) ? undefined : sentence;

/** The rule for `app_version` in activate and heartbeat requests. */
export const appVersionRule = textRule(
  isVersion,
  'must be one to four numbers with dots between, such as 3.2.0',
);

export const licenseKeyRule = textRule(
  (value) => canonicalLicenseKey(value) !== null,
  'must have the shape PREFIX_XXXX-XXXX-XXXX-XXXX',
);

export const emailRule = textRule((value) => canonicalEmail(value) !== null, 'must be an e-mail address');

/** Body of `POST /v1/activate` (docs/contract.md#activate). */
export class ActivateRequest {
  @Member(licenseKeyRule)
  license_key!: string;

  @Member(emailRule)
  email!: string;

  @Member(textRule((value) => /^[0-9a-fA-F]{64}$/.test(value), 'must be 64 hex digits'))
  machine_id!: string;

  @Member(hostnameHintRule)
  hostname_hint?: string | null;

  @Member(appVersionRule)
  app_version!: string;
}

function hostnameHintRule(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') return 'must be text';
  return isHostnameHintTooLong(normalizeHostnameHint(value)) ? 'must have at most 100 characters' : undefined;
}
