import { setTimeout as wait } from 'node:timers/promises';
import { Controller, Get, Header } from '@nestjs/common';
import { Config } from '../core/config.js';
import { AppLogger } from '../core/logger.js';
import { ERRORS_PAGE_POLICY, errorsAsHtml } from '../http/problems/problem-docs.js';
import { problem } from '../http/problems/problem.js';
import { WarningsService } from './warnings/warnings.service.js';

/** The probes of orchestrators, and the page to which the `type` of a problem links. */
@Controller()
export class MonitoringController {
  #isShuttingDown = false;

  constructor(
    private readonly warnings: WarningsService,
    private readonly config: Config,
    private readonly log: AppLogger,
  ) {}

  /**
   * Makes the readiness probe fail, then waits SHUTDOWN_DELAY_SECONDS, in which load balancers stop sending requests here.
   * Requests that still arrive are answered.
   */
  async drain(): Promise<void> {
    this.#isShuttingDown = true;
    const { shutdownDelaySeconds: delay_seconds } = this.config;
    this.log.info('shutting down', { delay_seconds });
    await wait(delay_seconds * 1000);
  }

  @Get('health/live')
  live() {
    return { status: 'ok' };
  }

  // An instance listens only after it has migrated the database and loaded its keys, so it is then ready. An outage of the
  // database does not make it unready: it then answers requests with 503 and a problem document, which a load balancer without a
  // ready instance would not send.
  @Get('health/ready')
  async ready() {
    if (this.#isShuttingDown) throw problem('unavailable');
    return { status: 'ready', warnings: await this.warnings.readWarnings() };
  }

  @Get('docs/errors')
  @Header('content-type', 'text/html; charset=utf-8')
  @Header('content-security-policy', ERRORS_PAGE_POLICY)
  errors() {
    return errorsAsHtml();
  }
}
