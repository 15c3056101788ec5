import { BeforeApplicationShutdown, Controller, Get, Header } from '@nestjs/common';
import { errorsAsHtml } from '../http/problem-docs.js';
import { problem } from '../http/problem.js';
import { WarningsService } from './warnings.service.js';

/** Probes for orchestrators, and the page where a problem's `type` leads. */
@Controller()
export class OpsController implements BeforeApplicationShutdown {
  #shuttingDown = false;

  constructor(private readonly warnings: WarningsService) {}

  beforeApplicationShutdown(): void {
    this.#shuttingDown = true;
  }

  @Get('health/live')
  live() {
    return { status: 'ok' };
  }

  // It listens only once it has migrated and loaded its keys. An outage of the database does not unready an instance:
  // its 503s say more than a balancer's.
  @Get('health/ready')
  async ready() {
    if (this.#shuttingDown) throw problem('unavailable');
    return { status: 'ready', warnings: await this.warnings.warnings() };
  }

  @Get('docs/errors')
  @Header('content-type', 'text/html; charset=utf-8')
  errors() {
    return errorsAsHtml();
  }
}
