import { loadavg } from 'node:os';
import { bytes, count, machine, table, time } from '../measure.mjs';

const HOUR = 3_600_000;

/** Of what kind the requests are, in the order in which a client sends them. */
const ROUTES = {
  activate: 'activation',
  heartbeat: 'heartbeat',
  manifest: 'manifest',
  purchases: 'refund reported',
  release: 'machine released',
};

/** The run as a page of Markdown. */
export function report(result, options) {
  const { counters, checker, expected, phases, checks, elapsed, pace, version, fleet } = result;
  const { clients, days, seed, minutes } = options;
  const answers = Object.keys(ROUTES).reduce((sum, route) => sum + counters.of(route), 0);
  const times = count((days * 24 * 60) / minutes);
  return `# Days of a fleet

${count(clients)} clients over ${days} simulated ${days === 1 ? 'day' : 'days'}, played on ${new Date().toISOString().slice(0, 10)} in ${time(elapsed)} by
\`npm run simulate -- --clients ${clients} --days ${days} --minutes ${minutes} --seed ${seed} --write\`: ${count(answers)} requests, ${count(answers / (elapsed / 1000))} a second in the mean.

${machine(version)} Load, service and database share the cores; at the end the load average was ${loadavg()[0].toFixed(1)},
and the load held ${bytes(process.memoryUsage.rss())}.

**${verdict(checker, checks)}**

![Latencies and arrivals over simulated time](simulation.svg)

## What happened

${table([
  ['', 'simulated time (UTC)', ''],
  ...phases.map(({ name, from, to, count: many }) => [
    name,
    `${moment(from)} to ${moment(Math.min(to, result.span))}`,
    happened(name, many, { counters, from, to, fleet }),
  ]),
])}

${table([
  ['', 'answer', 'how many'],
  ...Object.entries(ROUTES).flatMap(([route, name]) =>
    [...(counters.codes.get(route) ?? [])].toSorted().map(([code, many]) => [name, code, count(many)]),
  ),
])}

${count(counters.shed)} of the 503 came while everything was there: load that was shed. The others, and every missing answer, fall
into an outage. ${count(counters.late)} answers took more than the 10 s after which a client gives up. Of ${count(expected.telemetry.stored)} blocks of telemetry the service reported that they are stored, of ${count(counters.notStored)} that they are not${counters.notStored > 0 ? ` (${count(counters.notStoredOtherwise)} outside of an outage)` : ''}.

${table([
  ['', 'p50', 'p90', 'p99'],
  ...Object.entries(ROUTES)
    .filter(([route]) => counters.quantile(route, 1) !== null)
    .map(([route, name]) => [
      name,
      ...[0.5, 0.9, 0.99].map((share) => time(counters.quantile(route, share))),
    ]),
])}

Latencies are the machine's own milliseconds, a wait for a connection among them, to an eighth of a doubling.

## What was held against what is true

Each answer was held against a model of what it must be at that moment: status, code, activation, seats, time, stored or
not; and no manifest ever went back for a client.

${
  checker.findings.size === 0
    ? 'Every answer was as it must be.'
    : table([['finding', 'how often'], ...[...checker.findings].map(([what, many]) => [what, count(many)])])
}

And the database, after the last day:

${table([['', 'seen', 'wrong'], ...checks.map(({ what, seen, wrong }) => [what, count(seen), count(wrong)])])}

## What is compressed, and what is not

Time goes ${times} times as fast for the clients and for the service's clock: arrivals, back-off, \`retry-after\`, days and the hourly
run of retention. Clients that come back within minutes of their time come back within as many parts of a second here, so
clients that reconnect at once would be as many times as dense as in reality; for the hour after an outage time goes a quarter as fast. Not compressed are latencies, timeouts, the service's polling and
PostgreSQL's own clock. Time stops while a killed process starts, and outside of reconnections while more requests are under
way than the machine keeps up with (here for ${time(pace.waited)}). Clients behave as the reference client does: its own schedule says
when each calls.
`;
}

/** Whether anything came out other than it must. */
export const isRight = ({ checker, checks }) =>
  checker.findings.size === 0 && checks.every(({ wrong }) => wrong === 0);

function verdict(checker, checks) {
  if (isRight({ checker, checks }))
    return 'Nothing acknowledged was lost, and no client was refused but by shedding, or for a refund or a release.';
  const wrong = checks.filter((check) => check.wrong > 0).length;
  return `Not all is as it must be: ${checker.findings.size} kinds of wrong answers, ${wrong} checks of the database that fail.`;
}

function happened(name, many, { counters, from, to, fleet }) {
  if (name === 'update') return `${count(fleet.updated)} clients run it at the end`;
  if (name !== 'reconnection') return many === undefined ? '' : `${count(many)} of them`;
  const slices = counters.slices.filter((_, number) => {
    const start = number * counters.sliceMs;
    return start + counters.sliceMs > from && start < to;
  });
  const most = Math.max(...slices.map(({ asked }) => asked)) / (counters.sliceMs / 60_000);
  const started = many === undefined ? '' : `${count(many)} machines start together; `;
  return `${started}up to ${count(most)} requests a simulated minute`;
}

const moment = (now) =>
  `day ${Math.floor(now / HOUR / 24) + 1}, ${new Date(now).toISOString().slice(11, 16)}`;
