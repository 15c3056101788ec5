import { appVersionField } from '../fields/app-version.js';
import { emailField } from '../fields/email.js';
import { hostnameHintField } from '../fields/hostname-hint.js';
import { licenseKeyField } from '../fields/license-key.js';
import { machineIdField } from '../fields/machine-id.js';
import { Member } from '../http/parsing/member.js';

/** Body of `POST /v1/activate` (docs/contract.md#activate). */
export class ActivateRequest {
  @Member(licenseKeyField)
  license_key!: string;

  @Member(emailField)
  email!: string;

  @Member(machineIdField)
  machine_id!: Buffer;

  @Member(hostnameHintField)
  hostname_hint?: string | null;

  @Member(appVersionField)
  app_version!: string;
}
