import 'reflect-metadata';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from '../app.module.js';
import { Clock } from '../core/clock.js';
import { ConfigError, type Config } from '../core/config.js';
import { DatabaseUnavailable, migrateWhenReachable, openDatabase } from '../database/open-database.js';
import { createApp } from '../http/create-app.js';
import { printSentence } from '../core/journal.js';
import { LibraryOutput } from '../core/library-output.js';
import { errorFields, AppLogger } from '../core/logger.js';
import { missingPagesRemedy, pagesAreBuilt } from '../http/pages.js';
import { BACKLOG } from '../http/limits/load-limits.js';
import { exitOnUncaught } from '../core/uncaught-errors.js';
import { openKeyRing, readLicenseKeys } from '../keys/key-material.js';
import { requireKeySettingsOfDatabase } from '../licenses/license-key-secret.js';
import { AddressUnavailable, listenError } from './listen-failure.js';
import { MetricsService } from '../monitoring/metrics/metrics.service.js';
import { MonitoringController } from '../monitoring/monitoring.controller.js';
import { makeSample, NO_SAMPLE } from './sample-data.js';
import { welcomeText } from './welcome.js';

/** The process ends in any case when the shutdown has lasted this long, not counting SHUTDOWN_DELAY_SECONDS. */
const SHUTDOWN_TIMEOUT_MS = 10_000;

const printWarning = (sentence: string) => printSentence(sentence, 'warn');
/** The opened resources, which are closed in reverse order. */
const resources = new AsyncDisposableStack();
const shutdown = new AbortController();
let shutdownDelayMs = 0;
/** The logger of the process. `start` replaces it by one with the log level of the settings. */
let log = new AppLogger('fatal');
let startPromise: Promise<void> | undefined;

/** Marks the end of a step of the start, for bench/start. */
const endStep = (step: string) => performance.mark(step);

async function start(config: Config): Promise<void> {
  endStep('modules');
  log = new AppLogger(config.logLevel);
  resources.defer(() => log.waitUntilWritten());
  // What a library prints is logged without its text.
  new LibraryOutput(log).capture(console);
  const clock = new Clock();
  // An unusable key ring ends the start here, before anything is opened that must be closed again.
  await openKeyRing(config, clock.now());
  const database = await openDatabase(config, printSentence);
  resources.defer(() => database.close());
  shutdown.signal.throwIfAborted();
  const keys = await readLicenseKeys(config);
  const applied = await migrateWhenReachable(database.url, printWarning, shutdown.signal, (dataSource) =>
    requireKeySettingsOfDatabase(dataSource, keys, config, clock.now(), { isStart: true }),
  );
  endStep('migrations');
  const app: NestFastifyApplication = await createApp(
    AppModule.forRoot({ config, clock, log, databaseUrl: database.url }),
    config,
    log,
  );
  endStep('create');
  resources.defer(async () => {
    const startedAt = performance.now();
    await app.close();
    log.info('closed', { milliseconds: Math.round(performance.now() - startedAt) });
  });
  shutdown.signal.throwIfAborted();
  await app.init();
  endStep('init');
  shutdown.signal.throwIfAborted();
  const { port, host, isPortShared, metricsPort } = config;
  // Fastify passes all options to Node, but its type does not have `reusePort`.
  const options = { port, host, backlog: BACKLOG, reusePort: isPortShared };
  await app.listen(options).catch((error: unknown) => {
    throw listenError(config, error);
  });
  const listening = app.get(MetricsService).listen();
  await listening.catch((error: unknown) => {
    throw listenError({ host, port: metricsPort!, isPortShared: false }, error, 'METRICS_PORT');
  });
  // A signal or a failure before this line ends the start without a delay, because no load balancer sends requests yet. After a
  // signal, `shutDown` has also set its time limit already, which does not include SHUTDOWN_DELAY_SECONDS.
  shutdown.signal.throwIfAborted();
  shutdownDelayMs = config.shutdownDelaySeconds * 1000;
  // Deferred last, this is the first step of a shutdown: `/health/ready` fails for SHUTDOWN_DELAY_SECONDS.
  resources.defer(() => app.get(MonitoringController).drain());
  endStep('listen');
  log.info('listening', { host, port, migrations_applied: applied.length });
  if (!pagesAreBuilt())
    printWarning(
      `The web pages are missing, so /portal/, /support/ and /privacy/ do not exist: ${missingPagesRemedy()}.`,
    );
  if (config.isProduction) return;
  const sample = await makeSample(app).catch((error: unknown) => {
    log.failed('sample data not created', error);
    return NO_SAMPLE;
  });
  printSentence(welcomeText(config, sample));
}

/**
 * Closes the resources and ends the process. Only the first call has an effect, because Ctrl-C causes two calls: by its signal,
 * and by the end of `npm start`.
 */
async function shutDown(exitCode: number): Promise<void> {
  if (shutdown.signal.aborted) return;
  shutdown.abort();
  setTimeout(() => process.exit(exitCode || 1), shutdownDelayMs + SHUTDOWN_TIMEOUT_MS).unref();
  // A start in progress finishes its current step first, so that a resource which this step opens is closed too.
  await startPromise?.catch(() => undefined);
  await resources.disposeAsync();
  process.exit(exitCode);
}

/** Runs the service until a signal ends the process. */
export function serve(config: Config): void {
  exitOnUncaught(async (error) => {
    log.fatalError('uncaught error', error);
    await log.waitUntilWritten();
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void shutDown(0));
  // The channel to `npm start` closes when that process ends. Without this handler the service would keep running.
  process.on('disconnect', () => void shutDown(0));
  startPromise = start(config);
  startPromise.catch((error: unknown) => {
    if (shutdown.signal.aborted) return;
    printSentence(error instanceof Error ? error.message : 'Mooring could not start.', 'error');
    // The fields say where an unexpected error was thrown.
    const isExpected = [ConfigError, DatabaseUnavailable, AddressUnavailable].some(
      (expected) => error instanceof expected,
    );
    if (!isExpected) printSentence(JSON.stringify(errorFields(error)), 'error');
    void shutDown(error instanceof ConfigError ? 2 : 1);
  });
}
