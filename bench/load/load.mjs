// The load, in a process of its own: it receives over its channel what to request, from which server and for how long, and answers how many were
// answered. A closed loop: each connection asks again as soon as it has its answer.
import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { quantile } from '../measure.mjs';
import { Connection } from './connection.mjs';
import { requestsOf } from './requests.mjs';
import { ROWS } from './rows.mjs';

const data = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const makers = new Map();

process.on('message', async ({ row, port, etag, seconds, connections }) => {
  const name = `${row} ${etag}`;
  if (!makers.has(name)) makers.set(name, requestsOf(row, { ...data, etag }));
  process.send(await load(makers.get(name), ROWS[row].status, { port, seconds, connections }));
});
process.on('disconnect', () => process.exit(0));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(0));

async function load(nextRequest, right, { port, seconds, connections }) {
  const lines = Array.from({ length: connections }, () => new Connection(port));
  const times = [];
  const wrong = {};
  const began = performance.now();
  const until = began + seconds * 1000;
  const ask = async (line) => {
    for (let start = performance.now(); start < until;) {
      const { status } = await line.ask(nextRequest());
      const now = performance.now();
      if (status === right) times.push(now - start);
      else wrong[status] = (wrong[status] ?? 0) + 1;
      // A connection that broke would spin.
      if (status === 0) return;
      start = now;
    }
  };
  await Promise.all(lines.map(ask));
  const elapsed = (performance.now() - began) / 1000;
  for (const line of lines) line.end();
  times.sort((a, b) => a - b);
  const [p50, p99] = [0.5, 0.99].map((share) => quantile(times, share));
  return { answers: times.length, perSecond: times.length / elapsed, p50, p99, wrong };
}
