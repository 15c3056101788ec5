import { availableParallelism, cpus } from 'node:os';
import { drawLogo } from './logo.mjs';
import { describeLoad, formatTime, reachedOrMissed, table } from '../measure.mjs';

const MAX_SHIFT = 0.02;
const MAX_CLICKS = 4;
const MAX_MOVE_MS = 60_000;

const hasReachedGoals = ({ goal, bytes, logoBytes, usableMs, shift }) =>
  [
    shift <= MAX_SHIFT,
    ...(goal.bytes ? [bytes <= goal.bytes, bytes + logoBytes <= goal.bytesWithLogo] : []),
    ...(goal.ms ? [usableMs <= goal.ms] : []),
  ].every(Boolean);

const hasReachedMoveGoal = ({ clicks, codes, ms }) =>
  clicks <= MAX_CLICKS && codes === 1 && ms <= MAX_MOVE_MS;

/** Names what missed a goal: pages with their width, and the move to a new machine. */
export const findMissedGoals = ({ rows, move }) => [
  ...rows.filter((row) => !hasReachedGoals(row)).map(({ name, size }) => `${name}, ${size.width} px wide`),
  ...(hasReachedMoveGoal(move) ? [] : ['the move to a new machine']),
];

/** Makes the text of the results page. */
export function report({ rows, move }, rounds) {
  const count = (bytes) => bytes.toLocaleString('en');
  const describeGoals = ({ goal }) =>
    [
      goal.bytes && `${count(goal.bytes)} and ${count(goal.bytesWithLogo)} bytes`,
      goal.ms && formatTime(goal.ms),
      `shift ${MAX_SHIFT}`,
    ]
      .filter(Boolean)
      .join(', ');
  return `# The pages on a slow phone, and the move to a new machine

Measured on ${new Date().toISOString().slice(0, 10)} by \`npm run bench:pages -- --rounds ${rounds} --write\` in a Chromium with an empty cache, 1.6 Mbit/s, 150 ms
for each round trip, and a processor that is slowed down four times: medians of ${rounds} loads, and of the layout shift the
largest value. A page is usable when its form, its button, its table or its chart is on the screen.

The bytes include the headers of the responses. The service has the brand of an invented vendor, whose logo is a PNG image of
${count(drawLogo().length)} bytes. The second number of a goal includes the logo, the first does not.

Machine: ${cpus()[0].model.trim()}, ${availableParallelism()} cores, Node ${process.version.slice(1)} (${describeLoad()})

${table([
  ['page', 'width', 'bytes', 'bytes of the logo', 'usable after', 'layout shift', 'goals'],
  ...rows.map((row) => [
    row.name,
    String(row.size.width),
    count(row.bytes),
    count(row.logoBytes),
    formatTime(row.usableMs),
    row.shift.toFixed(3),
    `${describeGoals(row)}: ${reachedOrMissed(hasReachedGoals(row))}`,
  ]),
])}

## From a full license to a running application

The reference client is refused with \`machine_limit_reached\`, because all ${move.machinesAllowed} machines of the license are in use. Its
\`release_url\` opens the portal, the holder enters the mailed code and releases a machine, and the client activates by itself.
This took ${move.clicks} clicks (the first opens the browser), ${move.codes} code, and ${formatTime(move.ms)}, which do not include the time that a person
needs to read; the goal is ${MAX_CLICKS} clicks, one code and a minute: ${reachedOrMissed(hasReachedMoveGoal(move))}.
`;
}
