// An open-loop load in its own process: node steady.mjs FILE. The message `begin` has a port, the ETag of the manifest, and the
// number of requests a second of each kind. The requests are sent whether earlier ones were answered or not. The message
// `collect` returns the results since the previous `collect`, and `end` stops the load. The time of a request counts from when
// it was due, even if it was sent late.
import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { createSenders } from './senders.mjs';

/** How often the process sends the requests that are due. */
const TICK_MS = 2;

const data = JSON.parse(readFileSync(process.argv[2], 'utf8'));
let timer;
let measurements;
let inProgress = 0;

process.on('message', ({ begin, collect, end }) => {
  if (begin) start(begin);
  if (end) clearInterval(timer);
  process.send(collect ? collectResults() : {});
});
process.on('disconnect', () => process.exit(0));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(0));

function start({ port, etag, rates }) {
  measurements = emptyMeasurements(Object.keys(rates));
  const { senders } = createSenders(port, { ...data, etag });
  const began = performance.now();
  // A random start, so that the kinds are not sent at the same moments.
  const schedule = Object.entries(rates).map(([kind, rate]) => ({
    kind,
    rate,
    next: began + Math.random() * (1000 / rate),
  }));
  timer = setInterval(() => {
    const now = performance.now();
    for (const entry of schedule) {
      for (; entry.next <= now; entry.next += 1000 / entry.rate)
        void measure(entry.kind, senders[entry.kind], entry.next);
    }
  }, TICK_MS);
}

async function measure(kind, sendRequest, due) {
  inProgress += 1;
  const wrongStatus = await sendRequest();
  inProgress -= 1;
  // A request counts in the period in which its response arrives.
  const { times, wrongByStatus } = measurements[kind];
  if (wrongStatus === null) times.push(performance.now() - due);
  else wrongByStatus[wrongStatus] = (wrongByStatus[wrongStatus] ?? 0) + 1;
}

const emptyMeasurements = (kinds) =>
  Object.fromEntries(kinds.map((kind) => [kind, { times: [], wrongByStatus: {} }]));

function collectResults() {
  const result = { inProgress, kinds: measurements };
  measurements = emptyMeasurements(Object.keys(measurements));
  return result;
}
