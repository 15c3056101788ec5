import { count, errors, loadAtEnd, machine, reached, table } from '../measure.mjs';
import { ROWS } from '../load/rows.mjs';

/** The measurements as a page of Markdown. */
export function report({ version, rows, database }, { rounds, seconds, connections, seats }) {
  const entries = Object.entries(rows);
  return `# What requests cost

Measured on ${new Date().toISOString().slice(0, 10)} by \`npm run bench -- --rounds ${rounds} --seconds ${seconds} --connections ${connections} --seats ${seats} --write\`:
each row in ${rounds} rounds of ${seconds} s that alternate between the servers, after a warm-up; ${connections} keep-alive connections in a closed loop;
requests spread over ${count(seats)} activations. Each ratio is the median over pairs of neighbouring rounds, with the minimum and the maximum.

${machine(version)} Load, server and database share the cores, so absolute measurements
are noisy and low (${loadAtEnd()}); the ratios are comparable.
${errors(wrongOf(entries), CHECKED_BEFORE)}

## Speed relative to

- **plain**: handwritten Fastify and \`pg\`, with one query after the other for each request.
- **idiomatic**: NestJS and TypeORM as in their guides: repositories, relations, \`save\`, class-validator.
- **floor**: Fastify with one route that answers a constant of the manifest's size.

All use the same tables, license rules, pool size and Node. The other servers write no log, shed no load and make no request
ids. The service does, and its measurements include that.

${table([['service relative to', 'plain', 'idiomatic', 'floor'], ...entries.map(ratios)])}

## Absolute measurements

${table([
  ['', 'server', 'responses a second', 'p50', 'p99', 'processor time of the server for each response'],
  ...entries.flatMap(([row, servers]) =>
    Object.entries(servers).map(([name, { perSecond, p50, p99, processorUs }]) => [
      ROWS[row].title,
      name,
      count(perSecond),
      `${p50.toFixed(1)} ms`,
      `${p99.toFixed(1)} ms`,
      processorUs === null ? '' : `${count(processorUs)} µs`,
    ]),
  ),
])}

${
  database
    ? `The database alone (\`pgbench\`, 12 connections, prepared statements, one at a time) reads ${count(database.read)} activations or inserts ${count(database.insert)} rows of telemetry a second.`
    : 'The speed of the database alone was not measured, because `pgbench` is not installed.'
}
`;
}

const ratios = ([row, servers]) => [
  ROWS[row].title,
  ...['plain', 'idiomatic', 'floor'].map((name) => {
    const measurements = servers[name];
    if (!measurements) return '';
    const goal = ROWS[row].goals[name];
    const [ratio, least, most] = [measurements.ratio, measurements.least, measurements.most].map((times) =>
      times.toFixed(2),
    );
    const verdict = goal ? `; goal: ${goal}, ${reached(measurements.ratio >= goal)}` : '';
    return `${ratio} (${least} to ${most}${verdict})`;
  }),
];

const CHECKED_BEFORE =
  '; before the measurement, one response of each server to each row was compared with that of the service.';

function wrongOf(entries) {
  return entries.flatMap(([row, servers]) =>
    Object.entries(servers)
      .filter(([, { wrong }]) => Object.keys(wrong).length > 0)
      .map(
        ([name, { wrong }]) => `${name}, ${ROWS[row].title}: ${JSON.stringify(wrong).replaceAll('"', '')}`,
      ),
  );
}
