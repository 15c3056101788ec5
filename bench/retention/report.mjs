import { bytes, count, loadAtEnd, machine, median, sum, table, time, times } from '../measure.mjs';

/** The measurements as a page of Markdown. */
export function report(measurements, { rows, months, seed }) {
  const { version, dropped, batches, batchesVacuum, plain, plainVacuum, whole } = measurements;
  const wal = (step) => bytes(step.wal);
  const timesTheDrop = (key) => times(plain[key] + plainVacuum[key], dropped[key]);
  return `# What retention costs

${count(measurements.rows.rows)} rows of telemetry over ${months} months, ${bytes(measurements.rows.size)} with indexes, in ${measurements.rows.partitions} partitions (three of them for later months), filled in ${time(measurements.rows.ms)}.
Measured on ${new Date().toISOString().slice(0, 10)} by \`npm run bench:retention -- --rows ${rows} --months ${months} --seed ${seed} --write\`.

${machine(version)} Absolute times are noisy (${loadAtEnd()}), above all the shortest; the bytes are not.

## Delete a month

The oldest month is dropped as the nightly run does it: its partition is detached concurrently and dropped. From each of the
next two months the same number of rows is deleted, once in the batches of 5,000 rows of the nightly run and once by a
single \`delete\`. A checkpoint precedes each measurement, because such old rows have not changed since the last one. The space
of deleted rows can be reused only after a vacuum, and is not returned to the file system.

${table([
  ['', 'rows', 'time', 'WAL', 'time, as a multiple', 'WAL, as a multiple'],
  ['dropped', count(dropped.result), time(dropped.ms), wal(dropped), '1', '1'],
  ...[
    ['one `delete`', plain],
    ['and the vacuum', plainVacuum],
    ['deleted in batches', batches],
    ['and the vacuum', batchesVacuum],
  ].map(([name, step]) => [
    name,
    typeof step.result === 'number' ? count(step.result) : '',
    time(step.ms),
    wal(step),
    times(step.ms, dropped.ms),
    times(step.wal, dropped.wal),
  ]),
])}

One \`delete\` and its vacuum take ${timesTheDrop('ms')} times as long as the drop, and write ${timesTheDrop('wal')} times as much WAL.

## Delete a day

From a month that is partly kept, one day is deleted each night; here ${measurements.nights.length} nights in a row, without a vacuum between.

${nightsTable(measurements.nights)}

A complete run of the retention service after a long outage takes ${time(whole.ms)} and writes ${wal(whole)} of WAL. It removes ${count(whole.result.deleted.telemetry)} rows of telemetry
(whole months are dropped, days of the next month deleted) and ${count(whole.result.deleted.fleet_week)} weekly counts.

## Count a week

${table([
  ['weeks', 'rows a week', 'median', 'slowest', 'total'],
  [
    count(measurements.weeks.length),
    count(measurements.rows.rows / measurements.weeks.length),
    time(median(measurements.weeks)),
    time(Math.max(...measurements.weeks)),
    time(sum(measurements.weeks)),
  ],
])}

## The fleet page

The queries of the page read the weekly counts (median of 20, on connections with the limits of requests). For comparison,
the second table has the times of the same counts computed from the telemetry rows.

${table([
  ['from the weekly counts', 'time', 'size of the result', 'timed out after 0.8 s'],
  ...measurements.page.map(({ weeks, ms, size, timeouts }) => [
    `${weeks} weeks`,
    time(ms),
    size === null ? '' : bytes(size),
    `${timeouts} of 20`,
  ]),
])}

${table([['from the rows', 'time'], ...measurements.raw.map(({ span, ms }) => [span, time(ms)])])}
`;
}

const nightsTable = (nights) =>
  table([
    ['rows a night', 'time, median', 'time, slowest', 'WAL, median'],
    [
      count(median(nights.map(({ result }) => result))),
      time(median(nights.map(({ ms }) => ms))),
      time(Math.max(...nights.map(({ ms }) => ms))),
      bytes(median(nights.map(({ wal }) => wal))),
    ],
  ]);
