import { join } from 'node:path';
import { endProcess } from '../load/processes.mjs';
import { median } from '../measure.mjs';

const STARTS_MEASURED = 10;

/**
 * Measures the time from the start of the service to the first 200 of `/health/ready`: in production on the smallest and the
 * largest database in alternation, and in development with the embedded database. The first start in development, which creates
 * the database, is reported separately.
 */
export async function measureStarts({ processes, folder, progress }, databases) {
  progress('start-up');
  const smallestAndLargest = [databases[0], databases.at(-1)];
  const times = smallestAndLargest.map(() => []);
  for (let start = 0; start < STARTS_MEASURED; start += 1) {
    for (const [index, { data }] of smallestAndLargest.entries()) {
      const { readyMs, child } = await processes.startService(data.settings);
      times[index].push(readyMs);
      await endProcess(child);
    }
  }
  const settings = { NODE_ENV: 'development', HOST: '127.0.0.1', DATA_DIR: join(folder, 'development') };
  const developmentTimes = [];
  for (let start = 0; start <= STARTS_MEASURED; start += 1) {
    const { readyMs, child } = await processes.startService(settings);
    developmentTimes.push(readyMs);
    await endProcess(child);
  }
  const [first, ...others] = developmentTimes;
  const rows = smallestAndLargest.map(({ size }, index) => ({ size, ...summarize(times[index]) }));
  return { starts: STARTS_MEASURED, rows, first, later: summarize(others) };
}

const summarize = (times) => ({ median: median(times), least: Math.min(...times), most: Math.max(...times) });
