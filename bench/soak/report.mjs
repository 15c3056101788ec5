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

const RESIDENT_AT_MOST = 200 * 2 ** 20;
/** What the last third may hold more than the middle one. */
const GROWTH_AT_MOST = 1.05;

const WHAT = {
  malformed: 'bodies that are refused',
  garbage: 'bytes that are no HTTP',
  passing: 'heartbeats on a connection of their own',
  broken: 'clients that break off in the middle of a request',
  purchase: 'reports of purchases',
};

/** The measurements as a page of Markdown. */
export function report({ version, before, minutes, after }, options) {
  const resident = minutes.flatMap((minute) => minute.resident);
  const third = Math.floor(resident.length / 3);
  const [middle, last] = [resident.slice(third, -third), resident.slice(-third)].map(median);
  const most = Math.max(...resident);
  const isFlat = last <= middle * GROWTH_AT_MOST;
  return `# What a service holds in memory

Measured on ${new Date().toISOString().slice(0, 10)} by \`npm run bench:soak -- --minutes ${options.minutes} --write\`: a service as in production, ${count(options.seats)} activations,
${count(sum(Object.values(options.rates)))} requests a second, whether they are answered or not: ${mix(options.rates)}.
Resident memory (\`VmRSS\`) is read each second.

${machine(version)} (${loadAtEnd()})

- At most ${bytes(most)} resident; wanted under ${bytes(RESIDENT_AT_MOST)}: ${reached(most < RESIDENT_AT_MOST)}.
- The median of the last third, ${bytes(last)}, is ${(last / middle).toFixed(3)} times that of the middle third, ${bytes(middle)}; wanted at most ${GROWTH_AT_MOST} (flat): ${reached(isFlat)}.
- Resident before the load: ${bytes(before.resident)}. The heap after a full collection: ${bytes(before.heap)} before the load, ${bytes(after.heap)} after it.
- Sockets of all kinds: ${before.sockets} before the load, ${after.sockets} under it. ${errors(wrongOf(minutes))}

${table([
  ['minute', 'answers', 'p50', 'p99', 'resident, median', 'most'],
  ...minutes.map((minute, place) => [String(place + 1), ...measurements(minute)]),
])}
`;
}

const mix = (rates) =>
  Object.entries(rates)
    .map(([kind, rate]) => `${rate} ${WHAT[kind] ?? `\`${kind}\``}`)
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
  return Object.entries(wrong).map(([what, times]) => `${what}: ${times} times`);
}
