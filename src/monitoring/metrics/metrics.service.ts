import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { BeforeApplicationShutdown, Inject, Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { Config, ConfigError } from '../../core/config.js';
import { forgetAddresses } from '../../http/strip-client-address.js';
import { Log } from '../../core/logger.js';
import { Figures, type Measured } from './registry.js';

/** All that measure something, in the order in which it is looked up and shown. */
export const MEASURED = Symbol('measured');

/** The metrics, in Prometheus's text form, on a port of their own. No label names anyone. */
@Injectable()
export class Metrics implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #figures = new Figures();
  #server: Server | undefined;

  constructor(
    @Inject(MEASURED) private readonly measured: readonly Measured[],
    private readonly config: Config,
    private readonly log: Log,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    const { metricsPort, host } = this.config;
    if (metricsPort === undefined) return;
    for (const each of this.measured) each.measure(this.#figures);
    const server = createServer((request, response) => {
      if (request.url !== '/metrics') return void response.writeHead(404).end();
      this.text().then(
        (text) => response.writeHead(200, { 'content-type': this.#figures.contentType }).end(text),
        (error: unknown) => {
          this.log.failed('metrics failed', error);
          response.writeHead(500).end();
        },
      );
    });
    forgetAddresses(server);
    server.listen(metricsPort, host);
    await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
      throw new ConfigError(
        `Nothing can listen on HOST ${host}, METRICS_PORT ${metricsPort} (${error.code}).`,
      );
    });
    this.#server = server;
  }

  beforeApplicationShutdown(): void {
    this.#server?.close();
    this.#server?.closeAllConnections();
  }

  /** Where the metrics are served; for tests that ask for any free port. */
  address(): ReturnType<Server['address']> | undefined {
    return this.#server?.address();
  }

  private async text(): Promise<string> {
    await Promise.all(this.measured.map((each) => each.look?.()));
    return this.#figures.text();
  }
}
