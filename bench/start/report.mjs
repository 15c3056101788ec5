import {
  describeLoad,
  describeMachine,
  formatBytes,
  formatCount,
  formatTime,
  median,
  sum,
  table,
} from '../measure.mjs';

/** The goals: milliseconds of a start and of `mooring --version`, and MiB of resident memory. */
const GOALS = { start: 700, version: 200, idle: 90, steady: 110, saturated: 140 };
/** The steps of a start, in order. The key is the mark at the end of the step; the text says what happens in it. */
const STEPS = {
  boot: 'Node boots',
  modules: 'modules are loaded',
  migrations: 'connection, check of the migrations and of the key settings',
  create: 'Nest creates the modules',
  init: 'Nest initializes them',
  listen: 'the port is opened',
};
/** The number of packages that the page names below the table of modules. */
const LISTED_PACKAGES = 12;

/** Writes the measurements as a page of Markdown. */
export function report({ version, results, frameworks, floors, versions }, { starts, idle, seconds }) {
  return `# The start and the memory of the service

Measured on ${new Date().toISOString().slice(0, 10)} by \`npm run bench:start -- --starts ${starts} --idle ${idle} --seconds ${seconds} --write\`: a service in production mode on
a database that is migrated. **modules** is what a checkout runs, with Node's source maps. Before the bundle, an installation from
\`npm run package\` ran the same modules without the source maps of packages, and took about 10 MiB less memory. **bundle** is
what production runs now ([decision 0057](../../docs/decisions/0057-one-bundle-in-production.md)).
**frameworks** is a server of NestJS with Fastify that answers a constant, and has loaded TypeORM and \`pg\`, bundled in the same way:
what the service would take without any code of its own, without connections to PostgreSQL, and without its jobs and log.

${describeMachine(version)} Load of the machine: ${describeLoad()}. Times depend on that load; the variants start in
turns, so their ratios and the processor time are comparable.

## Start

The medians of ${starts} starts, from the start of the process to the first 200 of \`/health/ready\`. The goal is ${GOALS.start} ms on an idle machine.

${table(startRows(results))}

## Memory

Resident after ${idle} s without requests, after ${seconds} s with 240 requests a second, and after ${seconds} s of heartbeats with telemetry on 64
connections (a closed loop). The anonymous part belongs to the process alone; the rest is mainly the code of Node, which processes
share. The goals are ${GOALS.idle}, ${GOALS.steady} and ${GOALS.saturated} MiB.

${table(memoryRows(results, frameworks))}

What is resident before the service does anything:

${table(floorRows(floors))}

## \`mooring --version\`

The medians of ${starts}; the goal is ${GOALS.version} ms.

${table([['', 'time'], ...Object.entries(versions).map(([name, times]) => [name, formatTime(median(times))])])}

## Modules

${table(moduleRows(results))}

The largest packages of the modules, in MiB of source: ${largestPackages(results.modules.packages)}.
`;
}

function startRows(results) {
  const names = Object.keys(results);
  const medianOf = (name, read) => median(results[name].starts.map(read));
  const steps = Object.keys(STEPS);
  const stepRows = steps.map((step, index) => {
    const duration = ({ marks }) => marks[step] - (index > 0 ? marks[steps[index - 1]] : 0);
    return [STEPS[step], ...names.map((name) => formatTime(medianOf(name, duration)))];
  });
  return [
    ['', ...names],
    ...stepRows,
    [
      '**ready, in all**',
      ...names.map((name) => `**${formatTime(medianOf(name, ({ readyMs }) => readyMs))}**`),
    ],
    [
      'processor time until then',
      ...names.map((name) => formatTime(medianOf(name, ({ processorMs }) => processorMs))),
    ],
  ];
}

function memoryRows(results, frameworks) {
  const names = Object.keys(results);
  const states = { idle: 'idle', steady: '240 requests a second', saturated: 'saturated' };
  const rows = Object.entries(states).flatMap(([state, title]) => {
    const cells = (read) => names.map((name) => read(results[name].memory[state]));
    const residentOf = ({ resident, anonymous }) => `${formatBytes(resident)} (${formatBytes(anonymous)})`;
    const memory = [title, ...cells(residentOf), residentOf(frameworks[state])];
    if (state === 'idle') return [memory];
    const time = cells(({ answers, processorMs }) => `${formatCount((processorMs * 1000) / answers)} µs`);
    return [
      memory,
      ['· processor time of a request', ...time, ''],
      ['· responses', ...cells(({ answers }) => formatCount(answers)), ''],
    ];
  });
  return [['resident (of it anonymous)', ...names, 'frameworks'], ...rows];
}

const floorRows = (floors) => [
  ['', 'resident', 'anonymous', 'loaded after'],
  ...Object.entries(floors).map(([name, { resident, anonymous, loadedMs }]) => [
    name,
    formatBytes(resident),
    formatBytes(anonymous),
    formatTime(loadedMs),
  ]),
];

function moduleRows(results) {
  const rows = Object.entries(results).map(([name, { packages }]) => {
    const entries = Object.values(packages);
    return [
      name,
      formatCount(sum(entries.map((entry) => entry.modules))),
      formatBytes(sum(entries.map(({ bytes }) => bytes))),
    ];
  });
  return [['loaded before it is ready', 'modules', 'source'], ...rows];
}

function largestPackages(packages) {
  return Object.entries(packages)
    .toSorted(([, a], [, b]) => b.bytes - a.bytes)
    .slice(0, LISTED_PACKAGES)
    .map(([name, { modules, bytes }]) => `${name} ${(bytes / 2 ** 20).toFixed(2)} (${modules} modules)`)
    .join(', ');
}
