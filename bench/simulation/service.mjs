// The service as in production, but for its clock: that is set over the channel. What the schedule does
// hourly by the system's clock is done hourly by this one too.
import 'reflect-metadata';
import { AppModule } from '../../dist/app.module.js';
import { Clock } from '../../dist/core/clock.js';
import { Config } from '../../dist/core/config.js';
import { createApp } from '../../dist/http/create-app.js';
import { AppLogger } from '../../dist/core/logger.js';
import { BACKLOG } from '../../dist/http/limits/load-shedding.js';
import { RetentionJob } from '../../dist/retention/retention.job.js';

const HOUR = 3_600_000;
/** Minutes past the hour, as of the job. */
const RETENTION_AT = 5 * 60_000;

class SettableClock extends Clock {
  at = Number(process.argv[2]);

  now() {
    return new Date(this.at);
  }

  /** The time that was set. */
  monotonic() {
    return this.at;
  }

  /** The database's clock stays behind, and is no second source of time here. */
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
const hourOf = (time) => Math.floor((time - RETENTION_AT) / HOUR);

process.on('message', async ({ at, isLast }) => {
  const isDue = hourOf(at) > hourOf(clock.at);
  clock.at = at;
  if (isDue) retention.run();
  if (!isLast) return;
  // One that was under way had begun before this moment.
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

// The job queue prints a stack for each of its tries while the database is unavailable, beside the log.
console.trace = () => {};

await app.listen({ port: config.port, host: config.host, backlog: BACKLOG });
process.send({ port: config.port });
