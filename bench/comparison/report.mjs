import { count, errors, loadAtEnd, machine, reached, table } from '../measure.mjs';
import { ROWS } from '../load/rows.mjs';

/** The measurements as a page of Markdown. */
export function report({ version, rows, database }, { rounds, seconds, connections, seats }) {
  const entries = Object.entries(rows);
  return `# What requests cost

Measured on ${new Date().toISOString().slice(0, 10)} by \`npm run bench -- --rounds ${rounds} --seconds ${seconds} --connections ${connections} --seats ${seats} --write\`:
each row in ${rounds} rounds of ${seconds} s for each server in turn, after a warm-up; ${connections} keep-alive connections in a closed loop; heartbeats
spread over ${count(seats)} activations. Each ratio is the median over pairs of neighbouring rounds, with the minimum and the maximum.

${machine(version)} Load, server and database share the cores, so absolute measurements
are noisy and low (${loadAtEnd()}); the ratios are what counts.
${errors(wrongOf(entries), BEFORE)}

## Speed relative to

- **plain**: Fastify and \`pg\` by hand, one query after the other for each request.
- **idiomatic**: NestJS and TypeORM as their guides have it: repositories, relations, \`save\`, class-validator.
- **floor**: Fastify answering a constant of the manifest's size, from one route.

All use the same tables, license rules, pool size and Node; the rivals write no log, shed no load and make no request ids. The
service does, and its measurements include that.

${table([['service against', 'plain', 'idiomatic', 'floor'], ...entries.map(ratios)])}

## Absolute measurements

${table([
  ['', 'server', 'answers a second', 'p50', 'p99', 'processor time of the service for each answer'],
  ...entries.flatMap(([row, servers]) =>
    Object.entries(servers).map(([name, { perSecond, p50, p99, used }]) => [
      ROWS[row].title,
      name,
      count(perSecond),
      `${p50.toFixed(1)} ms`,
      `${p99.toFixed(1)} ms`,
      used === null ? '' : `${count(used)} µs`,
    ]),
  ),
])}

${
  database
    ? `The database alone (\`pgbench\`, 12 connections, prepared statements, one at a time): ${count(database.read)} reads of a binding a second, ${count(database.insert)} rows of telemetry.`
    : 'No `pgbench` is installed here, so what the database alone does is left out.'
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
    const verdict = goal ? `; wanted ${goal}: ${reached(measurements.ratio >= goal)}` : '';
    return `${ratio} (${least} to ${most}${verdict})`;
  }),
];

const BEFORE =
  '; before the measurement, an answer of each server to each row was compared with that of the service.';

function wrongOf(entries) {
  return entries.flatMap(([row, servers]) =>
    Object.entries(servers)
      .filter(([, { wrong }]) => Object.keys(wrong).length > 0)
      .map(
        ([name, { wrong }]) => `${name}, ${ROWS[row].title}: ${JSON.stringify(wrong).replaceAll('"', '')}`,
      ),
  );
}
