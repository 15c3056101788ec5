import { Body, Controller, HttpStatus, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Clock, rfc3339 } from '../core/clock.js';
import { Config } from '../core/config.js';
import { KeyRing } from '../keys/tokens/key-ring.js';
import { machineDigest } from '../keys/tokens/license-token.js';
import { ActivateRequest } from './activation.dto.js';
import { ActivationService } from './activation.service.js';
import { tokenResponse } from './token-response.js';

/**
 * `POST /v1/activate` (docs/contract.md#activate). A client sends it when the user clicks Activate. It repeats the request if the
 * response was lost, and while it waits for the user to release a machine in the portal. It also sends it in the background, after
 * the action `reactivate` or if its stored token was issued for another machine.
 */
@Controller('v1/activate')
export class ActivationController {
  constructor(
    private readonly activations: ActivationService,
    private readonly ring: KeyRing,
    private readonly config: Config,
    private readonly clock: Clock,
  ) {}

  @Post()
  async activate(@Body() request: ActivateRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    const { activation, created } = await this.activations.activate(request);
    reply.status(created ? HttpStatus.CREATED : HttpStatus.OK);
    const machine = machineDigest(request.machine_id);
    const { license, ...response } = tokenResponse(
      this.ring,
      this.config.product,
      { ...activation, machine },
      this.clock.now(),
    );
    return {
      ...response,
      activation: {
        id: activation.activation_id,
        activated_at: rfc3339(activation.activated_at),
        hostname_hint: activation.hostname_hint,
      },
      license: {
        ...license,
        machines_allowed: activation.machines_allowed,
        machines_in_use: activation.machines_in_use,
      },
    };
  }
}
