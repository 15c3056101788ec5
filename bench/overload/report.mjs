import {
  describeLoad,
  describeMachine,
  formatCount,
  formatTime,
  quantile,
  reachedOrMissed,
  table,
} from '../measure.mjs';

/**
 * The goals of each point (a load with one kind of connection): right answers as a share of the capacity, or of the load if that is
 * less, and the 99th percentile of their times.
 */
const MIN_SHARE = 0.9;
const MAX_P99_MS = 1_000;
/** The goal of the reconnection, as a multiple of the least possible time. */
const MAX_RECONNECTION_RATIO = 1.3;

const TITLES = { new: 'a new connection for each request', kept: 'connections that are kept alive' };
const percent = (part, whole) => `${((100 * part) / whole).toFixed(1)} %`;

export function report(
  { isPinned, points, reconnection, version, capacityConnections },
  { seconds, seed, factors, clients, only },
) {
  const options = `--factors ${factors.join(',')} --seconds ${seconds} --clients ${clients} --seed ${seed} --only ${only.join(',')}`;
  const parts = ['new', 'kept'].filter((each) =>
    points.some(({ connectionKind }) => connectionKind === each),
  );
  return `# The service under more load than it can answer

Measured on ${new Date().toISOString().slice(0, 10)} by \`npm run bench:overload -- ${options} --write\`. Heartbeats with telemetry arrive as a Poisson process, whether
earlier ones were answered or not, and the time of each counts from when it was due. The capacity is the rate of responses to ${capacityConnections}
connections, each of which sends its next request after a response: the mean of a measurement before and of one after each point.
"Right" are correct responses. The goals of a point are ${MIN_SHARE} of the capacity, or of the offered load if that is less, and a p99 of
at most ${MAX_P99_MS / 1_000} s; a call without an answer counts only in the share.
${
  isPinned
    ? 'The service and its database had one half of the processor cores, and the generator the other half.'
    : 'The service, its database and the generator shared the processor cores.'
}

${describeMachine(version)} Load of the machine: ${describeLoad()}.

${parts.map((each) => section(each, points, seconds)).join('\n')}
${reconnection ? reconnectionSection(reconnection) : ''}`;
}

function section(connectionKind, points, seconds) {
  const rows = points
    .filter((point) => point.connectionKind === connectionKind)
    .map((point) => row(point, seconds));
  const head = [
    'load ÷ capacity',
    'capacity',
    'offered',
    'right ÷ capacity',
    'p50',
    'p99',
    'p99 since connected',
    'refused',
    'no answer',
    'not sent',
    'wrong',
    'processor of the service',
    'of the generator',
    'goals',
  ];
  return `## With ${TITLES[connectionKind]}

${table([head, ...rows])}

"No answer" is a call that had none after ten seconds, when the reference client gives up, or that found all 2,000 kept connections of the
generator in use; the proxy of \`deploy/haproxy.cfg\` opens as many to an instance. "Not sent" are requests for which the generator
itself had no time. "Since connected" leaves out the time in which the kernel ignored the connection, and the client's kernel tried again
after one, three and seven seconds.
`;
}

function row({ factor, capacity, counts, times, timesConnected, serviceMs, processorMs }, seconds) {
  const [sorted, sortedConnected] = [times, timesConnected].map((each) => each.toSorted((a, b) => a - b));
  const share = counts.right_in_window / seconds / capacity;
  const offered = (counts.due - counts.not_sent) / seconds;
  const p99 = quantile(sorted, 0.99);
  const isReached = share >= MIN_SHARE * Math.min(1, offered / capacity) && p99 <= MAX_P99_MS;
  return [
    factor,
    `${formatCount(capacity)}/s`,
    `${formatCount(offered)}/s`,
    share.toFixed(2),
    formatTime(quantile(sorted, 0.5)),
    formatTime(p99),
    formatTime(quantile(sortedConnected, 0.99)),
    percent(counts.refused, counts.due),
    percent(counts.unanswered, counts.due),
    percent(counts.not_sent, counts.due),
    counts.wrong + counts.wrong_stop,
    serviceMs === null ? 'unknown' : formatTime(serviceMs),
    formatTime(processorMs),
    reachedOrMissed(isReached),
  ].map(String);
}

function reconnectionSection({ clients, capacity, answeredAfterMs, returningLater, counts }) {
  const least = (answeredAfterMs.length / capacity) * 1000;
  const last = answeredAfterMs.at(-1);
  const ratio = last / least;
  const times =
    last === undefined
      ? ''
      : `, half of them within ${formatTime(quantile(answeredAfterMs, 0.5))}, 99 % within ${formatTime(quantile(answeredAfterMs, 0.99))}, and the last after ${formatTime(last)}`;
  const result =
    answeredAfterMs.length + returningLater === clients
      ? `${ratio.toFixed(2)} times was measured: ${reachedOrMissed(ratio <= MAX_RECONNECTION_RATIO)}`
      : 'the bench ended before all others were answered: missed';
  return `## A reconnection

${formatCount(clients)} clients return within a second, each on a new connection. They repeat a failed call by the rule
of the reference client, whose times run ${formatCount(1_000_000 / clients)} times as fast, so that the reconnection has the shape of a million clients.
The times of the kernel's retries and the ten seconds of a call are not shortened, so refused clients return while others still wait.

- ${formatCount(answeredAfterMs.length)} of ${formatCount(clients)} clients were answered${times}. At the capacity of ${formatCount(capacity)}/s the least
  possible time for these is ${formatTime(least)}; the goal is ${MAX_RECONNECTION_RATIO} times that, and ${result}.
- ${formatCount(returningLater)} clients had no answer within ten seconds. Their applications continue to run, and their next heartbeat is about six hours later,
  which is not simulated.
- Calls: ${formatCount(counts.right)} right, ${formatCount(counts.refused)} refused, ${formatCount(counts.unanswered)} without an answer, ${counts.wrong} wrong. Wrong stops: ${counts.wrong_stop}.
`;
}
