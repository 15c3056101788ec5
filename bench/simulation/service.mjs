// The service as in production, except that messages set its clock. The hourly retention job also runs by this clock.
import 'reflect-metadata';
import { AppModule } from '../../dist/app.module.js';
import { Clock } from '../../dist/core/clock.js';
import { Config } from '../../dist/core/config.js';
import { createApp } from '../../dist/http/create-app.js';
import { AppLogger } from '../../dist/core/logger.js';
import { BACKLOG } from '../../dist/http/limits/load-limits.js';
import { RetentionJob } from '../../dist/retention/retention.job.js';

const HOUR_MS = 3_600_000;
/** Retention runs five minutes past the hour, as `RetentionJob` does. */
const RETENTION_OFFSET_MS = 5 * 60_000;

class SettableClock extends Clock {
  at = Number(process.argv[2]);

  now() {
    return new Date(this.at);
  }

  monotonic() {
    return this.at;
  }

  /** The clock of the database has the real time, so it cannot confirm the simulated time. */
  agreesWith() {
    return true;
  }
}

const clock = new SettableClock();
const config = new Config(process.env);
const log = new AppLogger(config.logLevel);
const core = { config, clock, log, databaseUrl: config.databaseUrl };
const app = await createApp(AppModule.forRoot(core), config, log);
await app.init();
const retention = app.get(RetentionJob);
const hourOf = (time) => Math.floor((time - RETENTION_OFFSET_MS) / HOUR_MS);

process.on('message', async ({ at, isLast }) => {
  const isDue = hourOf(at) > hourOf(clock.at);
  clock.at = at;
  if (isDue) retention.run();
  if (!isLast) return;
  // A run that is still in progress began before this moment, so another run follows it.
  await retention.whenIdle();
  retention.run();
  await retention.whenIdle();
  process.send({ isDone: true });
});

const end = async () => {
  await app.close();
  process.exit(0);
};
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.once(signal, end);
process.once('disconnect', end);

// The job queue prints a stack trace for each of its retries while the database is unavailable, in addition to the log.
console.trace = () => {};

await app.listen({ port: config.port, host: config.host, backlog: BACKLOG });
process.send({ port: config.port });
