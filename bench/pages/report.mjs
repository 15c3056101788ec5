import { availableParallelism, cpus } from 'node:os';
import { describeLoad, formatTime, reachedOrMissed, table } from '../measure.mjs';

const MAX_SHIFT = 0.02;
const MAX_CLICKS = 4;
const MAX_MOVE_MS = 60_000;

const hasReachedGoals = ({ goal, bytes, usableMs, shift }) =>
  [
    shift <= MAX_SHIFT,
    ...(goal.kib ? [bytes <= goal.kib * 1024] : []),
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
  const kib = ({ bytes }) => (bytes / 1024).toFixed(1);
  const describeGoals = ({ goal }) =>
    [goal.kib && `${goal.kib} KiB`, goal.ms && formatTime(goal.ms), `shift ${MAX_SHIFT}`]
      .filter(Boolean)
      .join(', ');
  return `# The pages on a slow phone, and the move to a new machine

Measured on ${new Date().toISOString().slice(0, 10)} by \`npm run bench:pages -- --rounds ${rounds} --write\` in a Chromium with an empty cache, 1.6 Mbit/s, 150 ms
for each round trip, and a processor that is slowed down four times: medians of ${rounds} loads, and of the layout shift the
largest value. A page is usable when its form, its table or its chart is on the screen.

Machine: ${cpus()[0].model.trim()}, ${availableParallelism()} cores, Node ${process.version.slice(1)} (${describeLoad()})

${table([
  ['page', 'width', 'transferred', 'usable after', 'layout shift', 'goals'],
  ...rows.map((row) => [
    row.name,
    String(row.size.width),
    `${kib(row)} KiB`,
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
