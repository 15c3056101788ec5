import { bytes, count, loadAtEnd, machine, median, sum, table, time, times } from '../measure.mjs';

/** The measurements as a page of Markdown. */
export function report(measurements, { rows, months, seed }) {
  const { version, dropped, batches, batchesVacuum, plain, plainVacuum, whole } = measurements;
  const wal = (step) => bytes(step.wal);
  const both = (key) => times(plain[key] + plainVacuum[key], dropped[key]);
  return `# What retention costs

${count(measurements.rows.rows)} rows of telemetry over ${months} months, ${bytes(measurements.rows.size)} with indexes, in ${measurements.rows.partitions} partitions (three of them ahead), made in ${time(measurements.rows.ms)}.
Measured on ${new Date().toISOString().slice(0, 10)} by \`npm run bench:retention -- --rows ${rows} --months ${months} --seed ${seed} --write\`.

${machine(version)} Absolute times are noisy (${loadAtEnd()}), the shortest most of all; the bytes are not.

## A month leaves

The oldest month is dropped as the nightly run does it (detached concurrently, then dropped); of the next two months
as many rows are deleted, by the run's own batches of 5,000 and by one plain \`delete\`. Each begins after a checkpoint, as
rows do that were not touched for two years. A \`delete\` gives the space back for reuse only, and only after a vacuum.

${table([
  ['', 'rows', 'time', 'WAL', 'time, as a multiple', 'WAL, as a multiple'],
  ['dropped', count(dropped.result), time(dropped.ms), wal(dropped), '1', '1'],
  ...[
    ['deleted at once', plain],
    ['and the vacuum', plainVacuum],
    ['deleted in batches', batches],
    ['and the vacuum', batchesVacuum],
  ].map(([what, step]) => [
    what,
    typeof step.result === 'number' ? count(step.result) : '',
    time(step.ms),
    wal(step),
    times(step.ms, dropped.ms),
    times(step.wal, dropped.wal),
  ]),
])}

One \`delete\` and its vacuum cost ${both('ms')} times the time of the drop, and ${both('wal')} times its WAL.

## A day leaves

The days of a month that is partly kept are deleted, a day each night; here ${measurements.nights.length} nights in a row, without a vacuum between.

${nights(measurements.nights)}

A whole run after a long outage, through the front door: ${time(whole.ms)}, ${wal(whole)} of WAL, for ${count(whole.result.deleted.telemetry)} rows of telemetry
(months that are wholly past dropped, days of the next one deleted) and ${count(whole.result.deleted.fleet_week)} weekly counts.

## A week is counted

${table([
  ['weeks', 'rows a week', 'median', 'slowest', 'all'],
  [
    count(measurements.weeks.length),
    count(measurements.rows.rows / measurements.weeks.length),
    time(median(measurements.weeks)),
    time(Math.max(...measurements.weeks)),
    time(sum(measurements.weeks)),
  ],
])}

## The fleet page

What the page asks (median of 20, over the connections that requests use), and what the same counts cost when asked of the
rows themselves.

${table([
  ['of the weekly counts', 'time', 'answer', 'given up after 0.8 s'],
  ...measurements.page.map(({ weeks, ms, size, tooLate }) => [
    `${weeks} weeks`,
    time(ms),
    size === null ? '' : bytes(size),
    `${tooLate} of 20`,
  ]),
])}

${table([['of the rows', 'time'], ...measurements.raw.map(({ span, ms }) => [span, time(ms)])])}
`;
}

const nights = (all) =>
  table([
    ['rows a night', 'time, median', 'time, slowest', 'WAL, median'],
    [
      count(median(all.map(({ result }) => result))),
      time(median(all.map(({ ms }) => ms))),
      time(Math.max(...all.map(({ ms }) => ms))),
      bytes(median(all.map(({ wal }) => wal))),
    ],
  ]);
