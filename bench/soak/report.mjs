import {
  bytes,
  count,
  errors,
  loadAtEnd,
  machine,
  median,
  quantile,
  reached,
  sum,
  table,
} from '../measure.mjs';

const MAX_RESIDENT_BYTES = 200 * 2 ** 20;
/** How many times as much memory the service may hold in the last third of the time as in the middle third. */
const MAX_GROWTH = 1.05;

/** Descriptions of the kinds whose names do not describe them; the report shows the names of the others. */
const KIND_DESCRIPTIONS = {
  malformed: 'invalid bodies',
  garbage: 'requests that are not HTTP',
  own_connection: 'heartbeats, each on its own connection',
  aborted: 'requests that the client aborts in the middle',
  purchase: 'reports of purchases',
};

/** The measurements as a page of Markdown. */
export function report({ version, before, minutes, after }, options) {
  const resident = minutes.flatMap((minute) => minute.resident);
  const third = Math.floor(resident.length / 3);
  const [middle, last] = [resident.slice(third, -third), resident.slice(-third)].map(median);
  const most = Math.max(...resident);
  const isFlat = last <= middle * MAX_GROWTH;
  return `# What a service holds in memory

Measured on ${new Date().toISOString().slice(0, 10)} by \`npm run bench:soak -- --minutes ${options.minutes} --write\`: a service in production mode, ${count(options.seats)} activations,
${count(sum(Object.values(options.rates)))} requests a second in an open loop (they are sent whether earlier ones were answered or not): ${mix(options.rates)}.
Resident memory (\`VmRSS\`) is read each second.

${machine(version)} (${loadAtEnd()})

- At most ${bytes(most)} resident; the goal is less than ${bytes(MAX_RESIDENT_BYTES)}: ${reached(most < MAX_RESIDENT_BYTES)}.
- The median of the last third, ${bytes(last)}, is ${(last / middle).toFixed(3)} times that of the middle third, ${bytes(middle)}; the goal is at most ${MAX_GROWTH} (flat): ${reached(isFlat)}.
- Resident before the load: ${bytes(before.resident)}. The heap after a full collection: ${bytes(before.heap)} before the load, ${bytes(after.heap)} after it.
- TCP sockets of the service: ${before.sockets} before the load, ${after.sockets} after it, with its keep-alive connections still open. ${errors(wrongOf(minutes))}

${table([
  ['minute', 'correct responses', 'p50', 'p99', 'resident, median', 'resident, maximum'],
  ...minutes.map((minute, index) => [String(index + 1), ...measurements(minute)]),
])}
`;
}

const mix = (rates) =>
  Object.entries(rates)
    .map(([kind, rate]) => `${rate} ${KIND_DESCRIPTIONS[kind] ?? `\`${kind}\``}`)
    .join(', ');

function measurements({ kinds, resident }) {
  const times = Object.values(kinds)
    .flatMap((kind) => kind.times)
    .toSorted((a, b) => a - b);
  const quantiles = [0.5, 0.99].map((share) => `${quantile(times, share).toFixed(1)} ms`);
  return [count(times.length), ...quantiles, bytes(median(resident)), bytes(Math.max(...resident))];
}

function wrongOf(minutes) {
  const wrong = {};
  for (const { kinds } of minutes)
    for (const [kind, measurements] of Object.entries(kinds))
      for (const [status, times] of Object.entries(measurements.wrong)) {
        const name = `${kind} ${status}`;
        wrong[name] = (wrong[name] ?? 0) + times;
      }
  return Object.entries(wrong).map(([name, times]) => `${name}: ${times} times`);
}
