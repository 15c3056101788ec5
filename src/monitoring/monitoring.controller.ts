import { setTimeout as wait } from 'node:timers/promises';
import { Controller, Get, Header } from '@nestjs/common';
import { Config } from '../core/config.js';
import { AppLogger } from '../core/logger.js';
import { errorsAsHtml } from '../http/problems/problem-docs.js';
import { problem } from '../http/problems/problem.js';
import { WarningsService } from './warnings.service.js';

/** Probes for orchestrators, and the page where a problem's `type` leads. */
@Controller()
export class MonitoringController {
  #leaving = false;

  constructor(
    private readonly warnings: WarningsService,
    private readonly config: Config,
    private readonly log: AppLogger,
  ) {}

  /** From now on balancers are told to send nobody here. Who comes before they have heard is answered as ever. */
  async leave(): Promise<void> {
    this.#leaving = true;
    const { shutdownDelaySeconds: delay_seconds } = this.config;
    this.log.info('leaving', { delay_seconds });
    await wait(delay_seconds * 1000);
  }

  @Get('health/live')
  live() {
    return { status: 'ok' };
  }

  // It listens only once it has migrated and loaded its keys. An outage of the database does not unready an instance:
  // its 503s say more than a balancer's.
  @Get('health/ready')
  async ready() {
    if (this.#leaving) throw problem('unavailable');
    return { status: 'ready', warnings: await this.warnings.warnings() };
  }

  @Get('docs/errors')
  @Header('content-type', 'text/html; charset=utf-8')
  errors() {
    return errorsAsHtml();
  }
}
