import { Body, Controller, HttpCode, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { tokenResponse } from '../activation/token-response.js';
import { Clock } from '../core/clock.js';
import { Config } from '../core/config.js';
import { REQUEST_TIMEOUTS_MS } from '../database/request-timeouts.js';
import { waitedMs } from '../http/limits/request-queue.js';
import { problem } from '../http/problems/problem.js';
import { KeyRing } from '../keys/tokens/key-ring.js';
import { verifyLicenseToken } from '../keys/tokens/license-token.js';
import { HeartbeatRequest } from './heartbeat.dto.js';
import { HeartbeatService } from './heartbeat.service.js';
import { TelemetryStore } from '../telemetry/telemetry.store.js';

/** `POST /v1/heartbeat` (docs/contract.md#heartbeat). Each client sends a heartbeat about every 6 hours. */
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
  async heartbeat(
    @Body() { token, app_version, telemetry }: HeartbeatRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const startedAt = performance.now() - waitedMs(reply.raw);
    const claims = verifyLicenseToken(this.ring, this.config.product, token);
    if (!claims) throw problem('token_invalid');
    const now = this.clock.now();
    const activation = await this.heartbeats.confirm(claims, app_version, now);
    // A heartbeat carries no machine id, so the machine digest is copied from the old token to the new one.
    const response = tokenResponse(
      this.ring,
      this.config.product,
      { ...activation, machine: claims.mch },
      now,
    );
    if (telemetry === undefined) return response;
    // If storing the telemetry is slow, the confirmation is sent without waiting for it further. The time includes the wait of the
    // request for a slot.
    const timeoutMs = REQUEST_TIMEOUTS_MS.telemetry - (performance.now() - startedAt);
    return { ...response, telemetry: await this.telemetry.store(telemetry, timeoutMs) };
  }
}
