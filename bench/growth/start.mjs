import { join } from 'node:path';
import { endProcess } from '../load/processes.mjs';
import { median } from '../measure.mjs';

const STARTS = 10;

/**
 * From the start of a process to its first answer that it is ready: in production on the smallest and the largest
 * database, in turn; and in development, with its own embedded database, as `npm start` runs it; the first start, which creates the database, is reported separately.
 */
export async function startTimes({ processes, folder, progress }, databases) {
  progress('start-up');
  const ends = [databases[0], databases.at(-1)];
  const times = ends.map(() => []);
  for (let start = 0; start < STARTS; start += 1) {
    for (const [place, { data }] of ends.entries()) {
      const { readyMs, child } = await processes.service(data.settings);
      times[place].push(readyMs);
      await endProcess(child);
    }
  }
  const settings = { NODE_ENV: 'development', HOST: '127.0.0.1', DATA_DIR: join(folder, 'development') };
  const second = [];
  for (let start = 0; start <= STARTS; start += 1) {
    const { readyMs, child } = await processes.service(settings);
    second.push(readyMs);
    await endProcess(child);
  }
  const [first, ...others] = second;
  const rows = ends.map(({ size }, place) => ({ size, ...spread(times[place]) }));
  return { starts: STARTS, rows, first, second: spread(others) };
}

const spread = (times) => ({ median: median(times), least: Math.min(...times), most: Math.max(...times) });
