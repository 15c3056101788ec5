import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { BeforeApplicationShutdown, Inject, Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { Config, ConfigError } from '../../core/config.js';
import { stripClientAddress } from '../../http/strip-client-address.js';
import { AppLogger } from '../../core/logger.js';
import { MetricsRegistry, type MetricsSource } from './registry.js';

/** All that measure something, in the order in which it is looked up and shown. */
export const METRICS_SOURCES = Symbol('measured');

/** The metrics, in Prometheus's text form, on a port of their own. No label names anyone. */
@Injectable()
export class MetricsService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #figures = new MetricsRegistry();
  #server: Server | undefined;

  constructor(
    @Inject(METRICS_SOURCES) private readonly measured: readonly MetricsSource[],
    private readonly config: Config,
    private readonly log: AppLogger,
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
    stripClientAddress(server);
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
