import { Body, Controller, HttpStatus, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Clock, rfc3339 } from '../core/clock.js';
import { Config } from '../core/config.js';
import { KeyRing } from '../keys/tokens/key-ring.js';
import { machineDigest } from '../keys/tokens/license-token.js';
import { ActivateRequest } from './activation.dto.js';
import { ActivationService } from './activation.service.js';
import { tokenAnswer } from './token-answer.js';

/** `POST /v1/activate`: called once, when the user clicks Activate. */
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
    const { seat, created } = await this.activations.activate(request);
    reply.status(created ? HttpStatus.CREATED : HttpStatus.OK);
    const machine = machineDigest(Buffer.from(request.machine_id, 'hex'));
    const { license, ...answer } = tokenAnswer(
      this.ring,
      this.config.product,
      { ...seat, machine },
      this.clock.now(),
    );
    return {
      ...answer,
      activation: {
        id: seat.activation_id,
        activated_at: rfc3339(seat.activated_at),
        hostname_hint: seat.hostname_hint,
      },
      license: {
        ...license,
        machines_allowed: seat.machines_allowed,
        machines_in_use: seat.machines_in_use,
      },
    };
  }
}
