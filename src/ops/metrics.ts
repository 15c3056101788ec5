import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { BeforeApplicationShutdown, Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { Gauge, Registry } from 'prom-client';
import { Clock, DAY_MS } from '../clock.js';
import { Config, ConfigError } from '../config.js';
import { forgetAddresses } from '../http/address-amnesia.js';
import { Log } from '../http/log.js';
import type { Ages } from './ages.js';
import { WarningsService } from './warnings.service.js';

/** The metrics, in Prometheus's text form, on a port of their own. No label names anyone. */
@Injectable()
export class Metrics implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #registry = new Registry();
  #server: Server | undefined;

  readonly #age = this.gauge('mooring_oldest_age_days', 'Age in days of the oldest row, by what it is.', [
    'of',
  ]);
  readonly #overdue = this.gauge(
    'mooring_erasure_overdue_days',
    'Days that the most urgent deletion request is overdue; below 0: days left.',
  );
  readonly #waiting = this.gauge('mooring_mails_waiting', 'Mails that wait to be sent.');
  readonly #failing = this.gauge('mooring_mails_failing', 'Mails that could not be delivered so far.');
  readonly #manifest = this.gauge(
    'mooring_manifest_expires_in_days',
    'Days until the live manifest expires; below 0: it has expired.',
  );
  readonly #warnings = this.gauge('mooring_warnings', 'Warnings of /health/ready.');

  constructor(
    private readonly warnings: WarningsService,
    private readonly config: Config,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    const { metricsPort, host } = this.config;
    if (metricsPort === undefined) return;
    const server = createServer((request, response) => {
      if (request.url !== '/metrics') return void response.writeHead(404).end();
      this.text().then(
        (text) => response.writeHead(200, { 'content-type': this.#registry.contentType }).end(text),
        (error: unknown) => {
          this.log.failed('metrics failed', error);
          response.writeHead(503).end();
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
    const watched = await this.warnings.look();
    this.#warnings.set(this.warnings.of(watched).length);
    this.setAges(watched.ages);
    const days = this.warnings.manifestDays();
    if (days === null) this.#manifest.remove();
    else this.#manifest.set(days);
    this.#waiting.set(watched.mail.waiting);
    this.#failing.set(watched.mail.failed);
    return this.#registry.metrics();
  }

  // What is not there has no age: its series ends.
  private setAges({ erasure_due, telemetry, telemetry_inbox, ended_activation }: Ages): void {
    const daysSince = (day: string) => Math.floor((this.clock.now().getTime() - Date.parse(day)) / DAY_MS);
    this.#age.reset();
    this.#overdue.remove();
    const oldest = { telemetry, telemetry_inbox, ended_activation };
    for (const [of, day] of Object.entries(oldest)) if (day !== null) this.#age.set({ of }, daysSince(day));
    if (erasure_due !== null) this.#overdue.set(daysSince(erasure_due));
  }

  private gauge<Label extends string>(name: string, help: string, labelNames: Label[] = []): Gauge<Label> {
    return new Gauge({ name, help, labelNames, registers: [this.#registry] });
  }
}
