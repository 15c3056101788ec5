import { loadavg } from 'node:os';
import { formatBytes, formatCount, describeMachine, table, formatTime } from '../measure.mjs';

const HOUR_MS = 3_600_000;

/** The names of the routes, in the order of the tables. */
const ROUTES = {
  activate: 'activation',
  heartbeat: 'heartbeat',
  manifest: 'manifest',
  purchases: 'refund reported',
  release: 'machine released',
};

/** Writes the results as a page of Markdown. */
export function report(result, options) {
  const { counters, checker, expected, phases, checks, elapsed, pace, version, fleet } = result;
  const { clients, days, seed, minutes } = options;
  const requests = Object.keys(ROUTES).reduce((sum, route) => sum + counters.totalOf(route), 0);
  const speed = formatCount((days * 24 * 60) / minutes);
  return `# Simulation of a fleet of clients

${formatCount(clients)} clients over ${days} simulated ${days === 1 ? 'day' : 'days'}, run on ${new Date().toISOString().slice(0, 10)} in ${formatTime(elapsed)} by
\`npm run simulate -- --clients ${clients} --days ${days} --minutes ${minutes} --seed ${seed} --write\`: ${formatCount(requests)} requests, on average ${formatCount(requests / (elapsed / 1000))} a second.

${describeMachine(version)} Load, service and database share the cores; at the end the load average was ${loadavg()[0].toFixed(1)},
and the load process used ${formatBytes(process.memoryUsage.rss())} of memory.

**${verdict(checker, checks)}**

![Latencies and requests over simulated time](simulation.svg)

## Events and responses

${table([
  ['', 'simulated time (UTC)', ''],
  ...phases.map(({ name, from, to, count: number }) => [
    name,
    `${moment(from)} to ${moment(Math.min(to, result.span))}`,
    describePhase(name, number, { counters, from, to, fleet }),
  ]),
])}

${table([
  ['', 'answer', 'how many'],
  ...Object.entries(ROUTES).flatMap(([route, name]) =>
    [...(counters.codes.get(route) ?? [])]
      .toSorted()
      .map(([code, number]) => [name, code, formatCount(number)]),
  ),
])}

Outside of outages, load shedding caused ${formatCount(counters.shed)} responses with 503. All other responses with 503, and all requests
without a response, were during an outage. ${formatCount(counters.late)} responses took more than the 10 s after which a client stops waiting. The service reported ${formatCount(expected.telemetry.stored)}
telemetry blocks as stored and ${formatCount(counters.notStored)} as not stored${counters.notStored > 0 ? ` (${formatCount(counters.notStoredOutsideOutage)} of these outside of an outage)` : ''}.

${table([
  ['', 'p50', 'p90', 'p99'],
  ...Object.entries(ROUTES)
    .filter(([route]) => counters.quantile(route, 1) !== null)
    .map(([route, name]) => [
      name,
      ...[0.5, 0.9, 0.99].map((share) => formatTime(counters.quantile(route, share))),
    ]),
])}

Latencies are in real time and include the wait for a connection. They are rounded to steps of an eighth of a doubling.

## Comparison with the expected state

Each response was compared with the expected state at that moment: status, code, activation, machine limit, time, and whether
telemetry was stored. No client may receive an older manifest than before.

${
  checker.findings.size === 0
    ? 'Every response matched the expected state.'
    : table([
        ['finding', 'count'],
        ...[...checker.findings].map(([what, number]) => [what, formatCount(number)]),
      ])
}

After the last day, the database was compared with the expected state:

${table([['', 'seen', 'wrong'], ...checks.map(({ what, seen, wrong }) => [what, formatCount(seen), formatCount(wrong)])])}

## What is compressed, and what is not

Time runs ${speed} times as fast as in reality for the clients and for the service's clock. That compresses the times of requests,
back-off, \`retry-after\`, days and the hourly run of retention, so after an outage the clients would send ${speed} times as many
requests a second as in reality. In the hour after an outage, time therefore runs at a quarter of that speed. Latencies, timeouts, the service's polling and
PostgreSQL's own clock are not compressed. Time stops while a killed process starts and, outside of reconnections, while the
service is behind (here for ${formatTime(pace.waitedMs)}). The clients use the schedule of the reference client.
`;
}

/** Whether every response and every check of the database matched the expected state. */
export const matchesExpectedState = ({ checker, checks }) =>
  checker.findings.size === 0 && checks.every(({ wrong }) => wrong === 0);

function verdict(checker, checks) {
  if (matchesExpectedState({ checker, checks }))
    return 'Nothing acknowledged was lost. Clients were refused only because of an outage, load shedding, a refund or a release.';
  const failedChecks = checks.filter((check) => check.wrong > 0).length;
  return `There are differences from the expected state: ${checker.findings.size} kinds of wrong responses, ${failedChecks} failed checks of the database.`;
}

function describePhase(name, number, { counters, from, to, fleet }) {
  if (name === 'update') return `${formatCount(fleet.updatedCount)} clients run the new version at the end`;
  if (name !== 'reconnection') return number === undefined ? '' : formatCount(number);
  const slices = counters.slices.filter((_, number) => {
    const start = number * counters.sliceMs;
    return start + counters.sliceMs > from && start < to;
  });
  const most = Math.max(...slices.map(({ sent }) => sent)) / (counters.sliceMs / 60_000);
  const started = number === undefined ? '' : `${formatCount(number)} machines start together; `;
  return `${started}up to ${formatCount(most)} requests a simulated minute`;
}

const moment = (now) =>
  `day ${Math.floor(now / HOUR_MS / 24) + 1}, ${new Date(now).toISOString().slice(11, 16)}`;
