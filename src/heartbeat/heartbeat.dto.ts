import { Allow } from 'class-validator';
import { appVersionRule } from '../activation/activation.dto.js';
import { Member } from '../http/parsing/members.pipe.js';
import { MAX_TOKEN_LENGTH } from '../keys/tokens/license-token.js';

/** Body of `POST /v1/heartbeat` (docs/contract.md#heartbeat). */
export class HeartbeatRequest {
  @Member((value) =>
    typeof value === 'string' && value !== '' && Buffer.byteLength(value) <= MAX_TOKEN_LENGTH
      ? undefined
      : 'must be a license token of at most 2 KiB',
  )
  token!: string;

  @Member(appVersionRule)
  app_version!: string;

  // Not validated here: an invalid block never fails a heartbeat. `readTelemetry` reads it.
  @Allow()
  telemetry?: unknown;
}
