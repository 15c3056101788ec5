// An open-loop load in its own process: node open.mjs FILE. Arrivals do not wait for responses, and the time of a request counts
// from when it was due, also if it is sent late. Each message on the IPC channel starts one load: `capacity` (a closed loop that
// measures how much the service answers), `arrivals`, or `reconnection`. The message `pid` asks for the id of this process.
import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { emptyCounts, Exchange } from './exchange.mjs';
import { reconnection, SENT_IN_A_TURN } from './reconnection.mjs';
import { poissonArrivals, seededRandom } from './poisson.mjs';

/** A request that could not be sent within this time after it was due is not sent: the generator is at its own limit. */
const MAX_LATE_MS = 1_000;
/** As many connections as the proxy of deploy/haproxy.cfg opens to an instance. */
const KEPT_CONNECTIONS = 2_000;

const { activations } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const LOADS = {
  capacity,
  arrivals,
  reconnection: (options) => reconnection(activations, options),
  pid: () => ({ pid: process.pid }),
};

process.on('message', async ({ load, ...options }) => {
  const before = process.cpuUsage();
  const result = await LOADS[load](options);
  const { user, system } = process.cpuUsage(before);
  process.send({ ...result, processorMs: (user + system) / 1000 });
});
process.on('disconnect', () => process.exit(0));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(0));

/** Sends requests on `connectionCount` connections, each after the response to the one before. */
async function capacity({ port, connectionKind, connectionCount, seconds }) {
  const exchange = new Exchange(port, activations, connectionKind);
  const began = performance.now();
  const until = began + seconds * 1000;
  const counts = emptyCounts();
  const sendUntilEnd = async () => {
    while (performance.now() < until) counts[(await exchange.send()).outcome] += 1;
  };
  await Promise.all(Array.from({ length: connectionCount }, sendUntilEnd));
  const elapsed = (performance.now() - began) / 1000;
  exchange.end();
  return { perSecond: counts.right / elapsed, counts };
}

/**
 * Sends Poisson arrivals. Only arrivals and responses after `warmUpSeconds` count. With `opensAll`, all connections that are kept
 * open are opened before.
 */
async function arrivals({ port, connectionKind, opensAll, perSecond, seconds, warmUpSeconds, seed }) {
  const exchange = new Exchange(port, activations, connectionKind, KEPT_CONNECTIONS);
  if (opensAll) await exchange.openAll();
  const counts = { ...emptyCounts(), not_sent: 0, due: 0, right_in_window: 0 };
  const times = [];
  const timesConnected = [];
  const reasons = {};
  const calls = new Set();
  const began = performance.now();
  const [countsFrom, until] = [began + warmUpSeconds * 1000, began + (warmUpSeconds + seconds) * 1000];
  const send = async (due) => {
    const { outcome, status, reason, openedAt } = await exchange.send();
    const now = performance.now();
    // A right response counts for the throughput if it arrives in the window, and for the times if its request was due in it.
    if (outcome === 'right' && now >= countsFrom && now < until) counts.right_in_window += 1;
    if (due < countsFrom) return;
    counts[outcome] += 1;
    if (outcome === 'right') {
      times.push(now - due);
      timesConnected.push(now - Math.max(due, openedAt));
    } else if (reason ?? status) reasons[reason ?? status] = (reasons[reason ?? status] ?? 0) + 1;
  };
  const dueTimes = poissonArrivals(perSecond, seededRandom(seed));
  let due = began + dueTimes.next().value;
  while (due < until) {
    const now = performance.now();
    for (
      let sent = 0;
      sent < SENT_IN_A_TURN && due <= now && due < until;
      due = began + dueTimes.next().value
    ) {
      if (due >= countsFrom) counts.due += 1;
      if (now - due > MAX_LATE_MS) {
        if (due >= countsFrom) counts.not_sent += 1;
        continue;
      }
      sent += 1;
      const call = send(due);
      calls.add(call);
      void call.then(() => calls.delete(call));
    }
    await (due > performance.now() + 1 ? pause(1) : nextTurn());
  }
  await Promise.all(calls);
  exchange.end();
  return { counts, times, timesConnected, reasons, seconds };
}
