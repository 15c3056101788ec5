// A closed-loop load in its own process: each connection sends its next request as soon as it has a response. Each message
// on the IPC channel describes one round, and the process sends back the number of correct responses, their rate and quantiles of
// their times, and counts of the other responses.
import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { quantile } from '../measure.mjs';
import { Connection } from './connection.mjs';
import { requestsOf } from './requests.mjs';
import { REQUEST_KINDS } from './request-kinds.mjs';

const data = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const nextRequestOf = new Map();

process.on('message', async ({ requestKind, port, etag, seconds, connections }) => {
  const name = `${requestKind} ${etag}`;
  if (!nextRequestOf.has(name)) nextRequestOf.set(name, requestsOf(requestKind, { ...data, etag }));
  const { status } = REQUEST_KINDS[requestKind];
  process.send(await load(nextRequestOf.get(name), status, { port, seconds, connections }));
});
process.on('disconnect', () => process.exit(0));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(0));

async function load(nextRequest, expectedStatus, { port, seconds, connections: connectionCount }) {
  const connections = Array.from({ length: connectionCount }, () => new Connection(port));
  const times = [];
  const wrongByStatus = {};
  const began = performance.now();
  const until = began + seconds * 1000;
  const sendRequests = async (connection) => {
    for (let start = performance.now(); start < until;) {
      const { status } = await connection.send(nextRequest());
      const now = performance.now();
      if (status === expectedStatus) times.push(now - start);
      else wrongByStatus[status] = (wrongByStatus[status] ?? 0) + 1;
      // Each further request on a broken connection would fail at once.
      if (status === 0) return;
      start = now;
    }
  };
  await Promise.all(connections.map(sendRequests));
  const elapsed = (performance.now() - began) / 1000;
  for (const connection of connections) connection.end();
  times.sort((a, b) => a - b);
  const [p50, p99] = [0.5, 0.99].map((share) => quantile(times, share));
  return { answers: times.length, perSecond: times.length / elapsed, p50, p99, wrongByStatus };
}
