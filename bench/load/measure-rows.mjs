import { median } from '../measure.mjs';
import { processorTime } from './processes.mjs';
import { ROWS } from './rows.mjs';

/**
 * Rounds in turn (A, B, C, A, B, C …): whatever else the machine does hits all alike.
 * @param asked each row, and the servers that it is asked of; the others are held against the first
 * @returns what came of each row
 */
export async function measureRows(asked, load, { rounds, seconds, connections, etag, progress }) {
  const measurements = {};
  for (const { row, servers } of asked) {
    progress(ROWS[row].title);
    const ask = ({ port }, seconds) => load({ row, port, etag, seconds, connections });
    for (const server of servers) await ask(server, Math.min(seconds, 2));
    const all = Object.fromEntries(servers.map(({ name }) => [name, []]));
    for (let round = 0; round < rounds; round += 1) {
      for (const server of servers) {
        const before = processorTime(server.pid);
        const result = await ask(server, seconds);
        const used = before === null ? null : processorTime(server.pid) - before;
        all[server.name].push({ ...result, used: used === null ? null : (used / result.answers) * 1000 });
      }
    }
    measurements[row] = Object.fromEntries(
      Object.entries(all).map(([name, results]) => [name, summary(results)]),
    );
    const [first, ...others] = servers;
    for (const { name } of others) {
      // Of neighbours in time, then the middle: a slow minute slows both halves of a pair.
      const pairs = all[first.name].map(({ perSecond }, round) => perSecond / all[name][round].perSecond);
      Object.assign(measurements[row][name], {
        ratio: median(pairs),
        least: Math.min(...pairs),
        most: Math.max(...pairs),
      });
    }
  }
  return measurements;
}

function summary(results) {
  const middle = (of) => median(results.map(of));
  const wrong = {};
  for (const result of results)
    for (const [status, count] of Object.entries(result.wrong)) wrong[status] = (wrong[status] ?? 0) + count;
  const used = results[0].used === null ? null : middle(({ used }) => used);
  return {
    perSecond: middle(({ perSecond }) => perSecond),
    p50: middle(({ p50 }) => p50),
    p99: middle(({ p99 }) => p99),
    used,
    wrong,
  };
}
