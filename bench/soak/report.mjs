import {
  formatBytes,
  formatCount,
  describeErrors,
  describeLoad,
  describeMachine,
  median,
  quantile,
  reachedOrMissed,
  sum,
  table,
} from '../measure.mjs';

/** The goal for the resident memory. */
const MAX_RESIDENT_BYTES = 200 * 2 ** 20;
/** The goal for the memory of the service in the last third of the time, as a multiple of that in the middle third. */
const MAX_GROWTH_RATIO = 1.05;

/** Descriptions of the kinds whose names do not describe them; the report shows the names of the others. */
const KIND_DESCRIPTIONS = {
  invalid_members: 'invalid bodies',
  malformed_http: 'requests that are not HTTP',
  own_connection: 'heartbeats, each on its own connection',
  aborted: 'requests that the client aborts in the middle',
  purchase: 'reports of purchases',
};

/** Writes the measurements as a page of Markdown. */
export function report({ version, before, minutes, after }, options) {
  const resident = minutes.flatMap((minute) => minute.resident);
  const third = Math.floor(resident.length / 3);
  const [middle, last] = [resident.slice(third, -third), resident.slice(-third)].map(median);
  const most = Math.max(...resident);
  const isFlat = last <= middle * MAX_GROWTH_RATIO;
  return `# The memory of a service under a steady load

Measured on ${new Date().toISOString().slice(0, 10)} by \`npm run bench:soak -- --minutes ${options.minutes} --write\`: a service in production mode, ${formatCount(options.activations)} activations,
${formatCount(sum(Object.values(options.rates)))} requests a second in an open loop (they are sent whether earlier ones were answered or not): ${describeRates(options.rates)}.
Resident memory (\`VmRSS\`) is read each second.

${describeMachine(version)} Load of the machine: ${describeLoad()}.

- At most ${formatBytes(most)} resident; the goal is less than ${formatBytes(MAX_RESIDENT_BYTES)}: ${reachedOrMissed(most < MAX_RESIDENT_BYTES)}.
- The median of the last third, ${formatBytes(last)}, is ${(last / middle).toFixed(3)} times that of the middle third, ${formatBytes(middle)}; the goal is at most ${MAX_GROWTH_RATIO} (flat): ${reachedOrMissed(isFlat)}.
- Resident before the load: ${formatBytes(before.resident)}. The heap after a full collection: ${formatBytes(before.heap)} before the load, ${formatBytes(after.heap)} after it.
- TCP sockets of the service: ${before.sockets} before the load, ${after.sockets} after it, with its keep-alive connections still open. ${describeErrors(describeWrongResponses(minutes))}

${table([
  ['minute', 'correct responses', 'p50', 'p99', 'resident, median', 'resident, maximum'],
  ...minutes.map((minute, index) => [String(index + 1), ...measurementCells(minute)]),
])}
`;
}

const describeRates = (rates) =>
  Object.entries(rates)
    .map(([kind, rate]) => `${rate} ${KIND_DESCRIPTIONS[kind] ?? `\`${kind}\``}`)
    .join(', ');

function measurementCells({ kinds, resident }) {
  const times = Object.values(kinds)
    .flatMap((kind) => kind.times)
    .toSorted((a, b) => a - b);
  const quantiles = [0.5, 0.99].map((share) => `${quantile(times, share).toFixed(1)} ms`);
  return [
    formatCount(times.length),
    ...quantiles,
    formatBytes(median(resident)),
    formatBytes(Math.max(...resident)),
  ];
}

/** Describes the wrong responses: the kind and status of each, and how often it came. */
function describeWrongResponses(minutes) {
  const counts = {};
  for (const { kinds } of minutes)
    for (const [kind, measurements] of Object.entries(kinds))
      for (const [status, times] of Object.entries(measurements.wrongByStatus)) {
        const name = `${kind} ${status}`;
        counts[name] = (counts[name] ?? 0) + times;
      }
  return Object.entries(counts).map(([name, times]) => `${name}: ${times} times`);
}
