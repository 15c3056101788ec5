import 'reflect-metadata';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from './app.module.js';
import { Clock } from './clock.js';
import { Config, ConfigError } from './config.js';
import { openDatabase } from './database/open-database.js';
import { createApp } from './http/app.js';
import { failure, Log } from './http/log.js';
import { withFreePort } from './ops/free-port.js';
import { makeSample } from './ops/sample.js';
import { welcome } from './ops/welcome.js';

/** What runs is finished within this; then the process ends all the same. */
const SHUTDOWN_MS = 10_000;

const say = (sentence: string) => void process.stderr.write(`${sentence}\n`);
/** What was opened, to be closed in reverse. */
const opened = new AsyncDisposableStack();
let ending: Promise<void> | undefined;

function end(exitCode: number): Promise<void> {
  return (ending ??= (async () => {
    setTimeout(() => process.exit(exitCode || 1), SHUTDOWN_MS).unref();
    await opened.disposeAsync();
    process.exit(exitCode);
  })());
}

async function start(): Promise<void> {
  const config = new Config(await withFreePort(process.env));
  const log = new Log(config.logLevel);
  const database = await openDatabase(config, say);
  opened.defer(() => database.close());
  if (ending) return;
  const ground = { config, clock: new Clock(), log, databaseUrl: database.url };
  const app: NestFastifyApplication = await createApp(AppModule.on(ground), config, log);
  opened.defer(() => app.close());
  await app.listen({ port: config.port, host: config.host });
  log.info('listening', {
    host: config.host,
    port: config.port,
    migrations_applied: database.applied.length,
  });
  if (!config.production) say(welcome(config, await makeSample(app)));
}

// Ctrl-C reaches the launcher and its child together, so one signal may come twice.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void end(0));
// The launcher (`npm start`) has gone: nobody would be left to end this process.
process.on('disconnect', () => void end(0));

start().catch((error: unknown) => {
  if (error instanceof ConfigError) {
    say(error.message);
    return end(2);
  }
  const { code, at } = failure(error);
  say(`Mooring could not start: ${error instanceof Error ? error.message : String(error)}`);
  say(JSON.stringify({ code, at }));
  return end(1);
});
