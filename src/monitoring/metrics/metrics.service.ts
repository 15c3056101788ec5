import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { Config } from '../../core/config.js';
import { SECURITY_HEADERS } from '../../http/responses/security-headers.js';
import { stripClientAddress } from '../../http/strip-client-address.js';
import { AppLogger } from '../../core/logger.js';
import { MetricsRegistry, type MetricsSource } from './registry.js';

/** Injection token of the list of all `MetricsSource` providers, in the order in which their metrics are shown. */
export const METRICS_SOURCES = Symbol('metrics sources');

/** Serves the metrics in Prometheus's text format on METRICS_PORT. No label contains personal data. */
@Injectable()
export class MetricsService implements BeforeApplicationShutdown {
  readonly #registry = new MetricsRegistry();
  #server: Server | undefined;

  constructor(
    @Inject(METRICS_SOURCES) private readonly sources: readonly MetricsSource[],
    private readonly config: Config,
    private readonly log: AppLogger,
  ) {}

  /** Opens METRICS_PORT, if it is set. Called after PORT is open, because a scrape means that the instance answers requests. */
  async listen(): Promise<void> {
    const { metricsPort, host } = this.config;
    if (metricsPort === undefined) return;
    for (const source of this.sources) source.register(this.#registry);
    const server = createServer((request, response) => {
      response.setHeaders(new Map(Object.entries(SECURITY_HEADERS)));
      if (request.url !== '/metrics') return void response.writeHead(404).end();
      this.text().then(
        (text) => response.writeHead(200, { 'content-type': this.#registry.contentType }).end(text),
        (error: unknown) => {
          this.log.failed('metrics failed', error);
          response.writeHead(500).end();
        },
      );
    });
    stripClientAddress(server);
    server.listen(metricsPort, host);
    await once(server, 'listening');
    this.#server = server;
  }

  beforeApplicationShutdown(): void {
    this.#server?.close();
    this.#server?.closeAllConnections();
  }

  /** The address of the metrics server; tests use it, because they let the system choose the port. */
  address(): ReturnType<Server['address']> | undefined {
    return this.#server?.address();
  }

  private async text(): Promise<string> {
    await Promise.all(this.sources.map((source) => source.prepare?.()));
    return this.#registry.text();
  }
}
