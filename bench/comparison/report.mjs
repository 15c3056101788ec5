import {
  formatCount,
  describeErrors,
  describeLoad,
  describeMachine,
  reachedOrMissed,
  table,
} from '../measure.mjs';
import { REQUEST_KINDS } from '../load/request-kinds.mjs';

/** Writes the measurements as a page of Markdown. */
export function report(
  { version, measurementsByKind, layersByKind, signatureUs, database },
  { rounds, seconds, connections, activations },
) {
  const entries = Object.entries(measurementsByKind);
  return `# How fast requests are answered, compared with other servers

Measured on ${new Date().toISOString().slice(0, 10)} by \`npm run bench -- --rounds ${rounds} --seconds ${seconds} --connections ${connections} --activations ${activations} --write\`:
each kind of request in ${rounds} rounds of ${seconds} s after a warm-up; the rounds alternate between the servers. The load keeps ${connections} connections open
and sends the next request on a connection as soon as it has the response (a closed loop). The requests are spread over ${formatCount(activations)}
activations. Each ratio compares the service with another server in rounds with the same number; the table has the median of these
ratios, with the minimum and the maximum.

${describeMachine(version)} Load, server and database share the cores, so absolute measurements
are noisy and low (${describeLoad()}); the ratios are comparable.
${describeErrors(describeWrongResponses(entries), CHECK_BEFORE_MEASUREMENT)}

## Speed relative to other servers

- **plain**: handwritten Fastify and \`pg\`, with one query after the other for each request.
- **idiomatic**: NestJS and TypeORM as in their guides: repositories, relations, \`save\`, class-validator.
- **minimal**: the floor. For a heartbeat, Fastify with the statements, the license rules and the signature of the service, and nothing
  else; for the manifest, Node's server with the prepared responses of the service.
- **constant**: Fastify with one route that answers a constant of the manifest's size.

All use the same Node, and all except the constant server the same tables, license rules and pool size. The other servers write no log, shed no load and make no request
ids. The service does, and its measurements include that.

${table([['service relative to', ...COMPARED], ...entries.map(ratioCells)])}

${describeFloors(measurementsByKind, signatureUs)}
## Absolute measurements

${table([
  ['', 'server', 'responses a second', 'p50', 'p99', 'processor time of the server for each response'],
  ...entries.flatMap(([requestKind, servers]) =>
    Object.entries(servers).map(([name, { perSecond, p50, p99, processorUs }]) => [
      REQUEST_KINDS[requestKind].title,
      name,
      formatCount(perSecond),
      `${p50.toFixed(1)} ms`,
      `${p99.toFixed(1)} ms`,
      processorUs === null ? '' : `${formatCount(processorUs)} µs`,
    ]),
  ),
])}

${layersByKind ? describeLayers(layersByKind, measurementsByKind) : ''}
${
  database
    ? `The database alone (\`pgbench\`, 12 connections, each with one prepared statement at a time) reads ${formatCount(database.read)} activations or inserts ${formatCount(database.insert)} rows of telemetry a second.`
    : 'The speed of the database alone was not measured, because `pgbench` is not installed.'
}
`;
}

/** The servers that the service is compared with, in the order of the columns. */
const COMPARED = ['plain', 'idiomatic', 'minimal', 'constant'];

const ratioCells = ([requestKind, servers]) => [
  REQUEST_KINDS[requestKind].title,
  ...COMPARED.map((name) => {
    const measurements = servers[name];
    if (!measurements) return '';
    const goal = REQUEST_KINDS[requestKind].goals[name];
    const [ratio, least, most] = [measurements.ratio, measurements.least, measurements.most].map((times) =>
      times.toFixed(2),
    );
    const verdict = goal ? `; goal: ${goal}, ${reachedOrMissed(measurements.ratio >= goal)}` : '';
    return `${ratio} (${least} to ${most}${verdict})`;
  }),
];

/** The goal for the processor time of a heartbeat, as a multiple of that of a response of the constant server. */
const MAX_CONSTANT_RATIO = 5;

/** What a heartbeat takes at least (a request of HTTP, and the signature of its token), and how fast the minimal servers are. */
function describeFloors({ heartbeat, telemetry, manifest, manifest_304 }, signatureUs) {
  if (!heartbeat?.service.processorUs || !manifest) return '';
  const [own, constant] = [heartbeat.service.processorUs, manifest.constant.processorUs];
  const minimal = heartbeat.minimal.processorUs;
  // Both ratios are those of the service, so their quotient compares the minimal server with the other one.
  const minimalTimes = (servers, name) => (servers[name].ratio / servers.minimal.ratio).toFixed(2);
  const withTelemetry = telemetry
    ? `, and with telemetry ${minimalTimes(telemetry, 'plain')} times as fast as plain`
    : '';
  const withManifest = manifest_304
    ? `\nFor the manifest, it is ${minimalTimes(manifest, 'constant')} times as fast as the constant with a 200, and ${minimalTimes(manifest_304, 'constant')} times with a 304.`
    : '';
  return `A heartbeat takes ${(own / constant).toFixed(1)} times the processor time of the constant server, in the server alone (goal: at most ${MAX_CONSTANT_RATIO}, ${reachedOrMissed(own / constant <= MAX_CONSTANT_RATIO)}). Two
parts of it cannot be avoided: the request, for which the constant server takes ${formatCount(constant)} µs, and the signature of the new token, for which OpenSSL needs ${signatureUs.toFixed(1)} µs.
They are ${Math.round(((constant + signatureUs) / own) * 100)} % of the heartbeat. The minimal server takes ${(minimal / constant).toFixed(1)} times the processor time of the constant server, and
by these ratios is ${minimalTimes(heartbeat, 'plain')} times as fast as plain and ${minimalTimes(heartbeat, 'idiomatic')} times as fast as idiomatic${withTelemetry}.${withManifest}
${describeAllowance(heartbeat)}
`;
}

/** Says how much more than the minimal server the service may take for a heartbeat, so that it is as fast as the goal. */
function describeAllowance({ plain, minimal }) {
  const goal = REQUEST_KINDS.heartbeat.goals.plain;
  const allowance = (plain.ratio / minimal.ratio / goal - 1) * minimal.processorUs;
  return allowance > 0
    ? `The goal of ${goal} times plain leaves ${allowance.toFixed(1)} µs for what the service does beyond that: Nest, its limits, the log and the counts.`
    : `So without Nest, limits, log and counts the goal of ${goal} times plain would be missed too.`;
}

const CHECK_BEFORE_MEASUREMENT =
  '; before the measurement, one response of each server to each kind of request was compared with that of the service.';

/** Describes the wrong responses of each server to each kind of request. */
function describeWrongResponses(entries) {
  return entries.flatMap(([requestKind, servers]) =>
    Object.entries(servers)
      .filter(([, { wrongByStatus }]) => Object.keys(wrongByStatus).length > 0)
      .map(
        ([name, { wrongByStatus }]) =>
          `${name}, ${REQUEST_KINDS[requestKind].title}: ${JSON.stringify(wrongByStatus).replaceAll('"', '')}`,
      ),
  );
}

/** The table of the layers: their processor time for each response, in microseconds. */
function describeLayers(layersByKind, measurementsByKind) {
  const kinds = Object.keys(layersByKind);
  const microseconds = (kind, layer) => {
    const { share = 0 } = layersByKind[kind].find((each) => each.layer === layer) ?? {};
    return share * (measurementsByKind[kind].service.processorUs ?? 0);
  };
  const total = (layer) => kinds.reduce((sum, kind) => sum + microseconds(kind, layer), 0);
  const layers = [
    ...new Set(Object.values(layersByKind).flatMap((shares) => shares.map(({ layer }) => layer))),
  ];
  return `## Where the time of the service goes

Processor time for each response in microseconds, by layer: the time of the table above, divided as a CPU profile of another round
says. The time in Node's own functions for signatures, hashes and the database is in the rows of those layers.

${table([
  ['layer', ...kinds.map((kind) => REQUEST_KINDS[kind].title)],
  ...layers
    .toSorted((a, b) => total(b) - total(a))
    .map((layer) => [layer, ...kinds.map((kind) => microseconds(kind, layer).toFixed(1))]),
])}
`;
}
