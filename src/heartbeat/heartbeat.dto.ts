import { appVersionField } from '../fields/app-version.js';
import { licenseTokenField } from '../fields/license-token.js';
import { Member } from '../http/parsing/member.js';

/** Body of `POST /v1/heartbeat` (docs/contract.md#heartbeat). */
export class HeartbeatRequest {
  @Member(licenseTokenField)
  token!: string;

  @Member(appVersionField)
  app_version!: string;

  /** As it was sent, because invalid telemetry never fails a heartbeat. `readTelemetry` reads it. */
  @Member({ parse: (input) => input }, { mayBeObject: true })
  telemetry?: unknown;
}
