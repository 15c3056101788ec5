import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { tokenAnswer } from '../activation/token-answer.js';
import { Clock } from '../core/clock.js';
import { Config } from '../core/config.js';
import { REQUEST_TIMEOUTS_MS } from '../database/request-timeouts.js';
import { problem } from '../http/problems/problem.js';
import { KeyRing } from '../keys/tokens/key-ring.js';
import { verifyLicenseToken } from '../keys/tokens/license-token.js';
import { HeartbeatRequest } from './heartbeat.dto.js';
import { HeartbeatService } from './heartbeat.service.js';
import { TelemetryStore } from '../telemetry/telemetry.store.js';

/** `POST /v1/heartbeat`: about every 6 hours, in the background. */
@Controller('v1/heartbeat')
export class HeartbeatController {
  constructor(
    private readonly heartbeats: HeartbeatService,
    private readonly telemetry: TelemetryStore,
    private readonly ring: KeyRing,
    private readonly config: Config,
    private readonly clock: Clock,
  ) {}

  @Post()
  @HttpCode(200)
  async heartbeat(@Body() { token, app_version, telemetry }: HeartbeatRequest) {
    const began = performance.now();
    const claims = verifyLicenseToken(this.ring, this.config.product, token);
    if (!claims) throw problem('token_invalid');
    const now = this.clock.now();
    const binding = await this.heartbeats.confirm(claims, app_version, now);
    // Stateless: the machine's digest goes from the old token to the new one, and no row is touched.
    const answer = tokenAnswer(this.ring, this.config.product, { ...binding, machine: claims.mch }, now);
    if (telemetry === undefined) return answer;
    // Below the limit of the answer, for the license is confirmed by now.
    const left = REQUEST_TIMEOUTS_MS.telemetry - (performance.now() - began);
    return { ...answer, telemetry: await this.telemetry.store(telemetry, left) };
  }
}
