import {
  formatBytes,
  formatCount,
  describeLoad,
  describeMachine,
  median,
  sum,
  table,
  formatTime,
  formatRatio,
} from '../measure.mjs';

/** Writes the measurements as a page of Markdown. */
export function report(measurements, { rows, months, seed }) {
  const { version, dropped, batches, batchesVacuum, oneDelete, oneDeleteVacuum, completeRun } = measurements;
  const wal = (step) => formatBytes(step.wal);
  const ratioToDrop = (key) => formatRatio(oneDelete[key] + oneDeleteVacuum[key], dropped[key]);
  return `# The cost of deleting telemetry, and of the fleet page

${formatCount(measurements.telemetry.rows)} rows of telemetry over ${months} months, ${formatBytes(measurements.telemetry.size)} with indexes, in ${measurements.telemetry.partitions} partitions (three of them for later months), filled in ${formatTime(measurements.telemetry.ms)}.
Measured on ${new Date().toISOString().slice(0, 10)} by \`npm run bench:retention -- --rows ${rows} --months ${months} --seed ${seed} --write\`.

${describeMachine(version)} Times vary from run to run (${describeLoad()}), the shortest ones
most; the numbers of bytes do not.

## Delete a month

The oldest month is dropped as the nightly run does it: its partition is detached concurrently and dropped. From each of the
next two months the same number of rows is deleted, once in the batches of 5,000 rows of the nightly run and once by a
single \`delete\`. A checkpoint precedes each measurement, because in production such old rows have not changed since the last one. The space
of deleted rows can be reused only after a vacuum, and is not returned to the file system.

${table([
  ['', 'rows', 'time', 'WAL', 'time, relative to the drop', 'WAL, relative to the drop'],
  ['dropped', formatCount(dropped.result), formatTime(dropped.ms), wal(dropped), '1', '1'],
  ...[
    ['deleted by one `delete`', oneDelete],
    ['vacuum after the one `delete`', oneDeleteVacuum],
    ['deleted in batches', batches],
    ['vacuum after the batches', batchesVacuum],
  ].map(([name, step]) => [
    name,
    typeof step.result === 'number' ? formatCount(step.result) : '',
    formatTime(step.ms),
    wal(step),
    formatRatio(step.ms, dropped.ms),
    formatRatio(step.wal, dropped.wal),
  ]),
])}

One \`delete\` and its vacuum take ${ratioToDrop('ms')} times as long as the drop, and write ${ratioToDrop('wal')} times as much WAL.

## Delete a day

The rows of a month that is partly kept are deleted day by day. The bench deletes ${measurements.nights.length} days one after the other, without a vacuum between them.

${nightsTable(measurements.nights)}

A complete run of the retention service after a long outage takes ${formatTime(completeRun.ms)} and writes ${wal(completeRun)} of WAL. It removes ${formatCount(completeRun.result.deleted.telemetry)} rows of telemetry
(whole months are dropped, days of the next month deleted) and ${formatCount(completeRun.result.deleted.fleet_week)} weekly counts.

## Roll up a week

Each completed week of telemetry is counted once.

${table([
  ['weeks', 'rows a week', 'median', 'slowest', 'total'],
  [
    formatCount(measurements.weeks.length),
    formatCount(measurements.telemetry.rows / measurements.weeks.length),
    formatTime(median(measurements.weeks)),
    formatTime(Math.max(...measurements.weeks)),
    formatTime(sum(measurements.weeks)),
  ],
])}

## The fleet page

The queries of the page read the weekly counts (median of 20, on connections with the statement timeout that requests have). For
comparison, the second table has the times of the same counts computed from the telemetry rows.

${table([
  ['from the weekly counts', 'time', 'size of the result', 'timed out after 0.8 s'],
  ...measurements.fleetPage.map(({ weeks, ms, size, timeouts }) => [
    `${weeks} weeks`,
    formatTime(ms),
    size === null ? '' : formatBytes(size),
    `${timeouts} of 20`,
  ]),
])}

${table([['from the rows', 'time'], ...measurements.fromRows.map(({ span, ms }) => [span, formatTime(ms)])])}
`;
}

const nightsTable = (nights) =>
  table([
    ['rows a night', 'time, median', 'time, slowest', 'WAL, median'],
    [
      formatCount(median(nights.map(({ result }) => result))),
      formatTime(median(nights.map(({ ms }) => ms))),
      formatTime(Math.max(...nights.map(({ ms }) => ms))),
      formatBytes(median(nights.map(({ wal }) => wal))),
    ],
  ]);
