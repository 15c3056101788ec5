import { median } from '../measure.mjs';
import { readProcessorTime } from './processes.mjs';
import { REQUEST_KINDS } from './request-kinds.mjs';

/**
 * Measures each kind of request in rounds that alternate between the servers (A, B, C, A, B, C …), so that other work of the
 * machine affects all servers alike.
 * @param plan each kind of request with its servers; the first server is compared with each of the others
 * @param load sends requests of one kind to one server for some seconds, and returns the results
 * @returns the measurements of each server, by kind of request and server name
 */
export async function measureRequestKinds(plan, load, { rounds, seconds, connections, etag, progress }) {
  const measurements = {};
  for (const { requestKind, servers } of plan) {
    progress(REQUEST_KINDS[requestKind].title);
    const runRound = ({ port }, seconds) => load({ requestKind, port, etag, seconds, connections });
    // A first round of at most two seconds warms up each server. It is not counted.
    for (const server of servers) await runRound(server, Math.min(seconds, 2));
    const results = Object.fromEntries(servers.map(({ name }) => [name, []]));
    for (let round = 0; round < rounds; round += 1) {
      for (const server of servers) {
        const before = readProcessorTime(server.pid);
        const result = await runRound(server, seconds);
        const usedMs = before === null ? null : readProcessorTime(server.pid) - before;
        const processorUs = usedMs === null ? null : (usedMs / result.answers) * 1000;
        results[server.name].push({ ...result, processorUs });
      }
    }
    measurements[requestKind] = Object.fromEntries(
      Object.entries(results).map(([name, rounds]) => [name, summarize(rounds)]),
    );
    const [first, ...others] = servers;
    for (const { name } of others) {
      // Rounds with the same number are close in time, so a slow minute of the machine slows both rounds of a pair.
      const ratios = results[first.name].map(
        ({ perSecond }, round) => perSecond / results[name][round].perSecond,
      );
      Object.assign(measurements[requestKind][name], {
        ratio: median(ratios),
        least: Math.min(...ratios),
        most: Math.max(...ratios),
      });
    }
  }
  return measurements;
}

function summarize(rounds) {
  const medianOf = (name) => median(rounds.map((round) => round[name]));
  const wrongByStatus = {};
  for (const round of rounds)
    for (const [status, count] of Object.entries(round.wrongByStatus))
      wrongByStatus[status] = (wrongByStatus[status] ?? 0) + count;
  return {
    perSecond: medianOf('perSecond'),
    p50: medianOf('p50'),
    p99: medianOf('p99'),
    processorUs: rounds[0].processorUs === null ? null : medianOf('processorUs'),
    wrongByStatus,
  };
}
