import 'reflect-metadata';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from '../app.module.js';
import { Clock } from '../core/clock.js';
import { ConfigError, type Config } from '../core/config.js';
import { migrateWhenThere, openDatabase } from '../database/open-database.js';
import { createApp } from '../http/create-app.js';
import { errorFields, AppLogger } from '../core/logger.js';
import { pagesAreBuilt } from '../http/pages.js';
import { BACKLOG } from '../http/limits/load-shedding.js';
import { exitOnUncaught } from '../core/uncaught-errors.js';
import { openKeyRing } from '../keys/key-material.js';
import { MonitoringController } from '../monitoring/monitoring.controller.js';
import { makeSample } from './sample-data.js';
import { welcome } from './welcome.js';

/** The time limit of the shutdown, after SHUTDOWN_DELAY_SECONDS; then the process ends in any case. */
const SHUTDOWN_MS = 10_000;

const printMessage = (sentence: string) => void process.stderr.write(`${sentence}\n`);
/** The opened resources, which are closed in reverse order. */
const opened = new AsyncDisposableStack();
const ending = new AbortController();
let delayMs = 0;
/** Replaced by a logger with the level of the settings. */
let log = new AppLogger('fatal');
let started: Promise<void> | undefined;

async function start(config: Config): Promise<void> {
  log = new AppLogger(config.logLevel);
  opened.defer(() => log.written());
  const clock = new Clock();
  // Before anything is started that would have to be closed again.
  await openKeyRing(config, clock.now());
  const database = await openDatabase(config, printMessage);
  opened.defer(() => database.close());
  ending.signal.throwIfAborted();
  const applied = await migrateWhenThere(database.url, printMessage, ending.signal);
  const app: NestFastifyApplication = await createApp(
    AppModule.forRoot({ config, clock, log, databaseUrl: database.url }),
    config,
    log,
  );
  opened.defer(async () => {
    const started = performance.now();
    await app.close();
    log.info('closed', { milliseconds: Math.round(performance.now() - started) });
  });
  ending.signal.throwIfAborted();
  await app.init();
  ending.signal.throwIfAborted();
  const { port, host } = config;
  await app.listen({ port, host, backlog: BACKLOG }).catch((error: NodeJS.ErrnoException) => {
    throw new ConfigError(`Nothing can listen on HOST ${config.host}, PORT ${config.port} (${error.code}).`);
  });
  ending.signal.throwIfAborted();
  delayMs = config.shutdownDelaySeconds * 1000;
  opened.defer(() => app.get(MonitoringController).drain());
  log.info('listening', {
    host: config.host,
    port: config.port,
    migrations_applied: applied.length,
  });
  if (!pagesAreBuilt())
    printMessage(
      'The web pages are not built (npm run build), so /portal/, /support/ and /privacy/ are unknown here.',
    );
  if (!config.production) printMessage(welcome(config, await makeSample(app)));
}

/** Closes the opened resources once: Ctrl-C reaches the launcher and its child, so a signal may arrive twice. */
async function end(exitCode: number): Promise<void> {
  if (ending.signal.aborted) return;
  ending.abort();
  setTimeout(() => process.exit(exitCode || 1), delayMs + SHUTDOWN_MS).unref();
  // A start in progress finishes its step first, so that the resource it opens is closed too.
  await started?.catch(() => undefined);
  await opened.disposeAsync();
  process.exit(exitCode);
}

/** Runs the service until a signal ends the process. */
export function serve(config: Config): void {
  exitOnUncaught(async (error) => {
    log.fatalError('uncaught error', error);
    await log.written();
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void end(0));
  // The launcher (`npm start`) has ended, and no other process would end this one.
  process.on('disconnect', () => void end(0));
  started = start(config);
  started.catch((error: unknown) => {
    if (ending.signal.aborted) return;
    printMessage(error instanceof Error ? error.message : 'Mooring could not start.');
    if (!(error instanceof ConfigError)) printMessage(JSON.stringify(errorFields(error)));
    void end(error instanceof ConfigError ? 2 : 1);
  });
}
