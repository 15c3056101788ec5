// Makes telemetry rows that are distributed like those of a fleet: a few models are the most frequent, new versions spread over
// weeks, and two heartbeats in a thousand report a crash.

const DAY_MS = 86_400_000;

/**
 * SQL for a random rank from 0 to `last`, made from `chance`, a random number below 1. Rank 0 is the most frequent, and each
 * rank before `last` is rarer than the one before it by the same factor. `last` replaces all higher ranks, so it may be more
 * frequent. A higher `mean` makes the high ranks more frequent.
 */
const randomRank = (chance, mean, last) => `least(${last}, floor(-ln(1 - ${chance}) * ${mean}))::integer`;

// Forty models with eight chips. The rarest ones send so few heartbeats a week that their counts are small cells.
const MODEL = `(array['Mac15,', 'Mac14,', 'MacBookPro18,', 'Mac16,', 'MacBookAir10,'])[1 + model % 5] || 1 + model / 5`;
const CHIP = `(array['Apple M3', 'Apple M2', 'Apple M1 Pro', 'Apple M4', 'Apple M1', 'Apple M3 Max', 'Apple M2 Ultra',
  'Apple M4 Max'])[1 + model % 8]`;
const MEMORY = `(array['16', '8', '32', '24', '64', '36', '48', '128', '96', '192'])[1 + memory]`;

// The values are in the order of the columns of `telemetry`. `n` numbers the rows. The random numbers, `u1` to `u6` from 0 to 1,
// come from their own subquery, `chances`, so that the values of one row are consistent.
const SELECT_ROWS = `
  select gen_random_uuid(), day, version, 'macOS ' || 14 + os / 12 || '.' || os % 12, ${MODEL}, 'arm64', 8 + model % 5 * 2,
    ${MEMORY}, camera, 'coreml', uptime, case when crash then 1 else 0 end, ${CHIP}, compute,
    case when u1 < 0.95 then round(exp(2.2 + model % 8 * 0.12 + normal * 0.35))::integer end,
    case when compute = 'gpu' then 'cpu_and_gpu' when u2 < 0.97 then 'cpu_and_ne' else 'cpu_only' end,
    case when u2 < 0.98 then 'not_needed' else 'recovered' end,
    case when crash then case when sig % 3 = 0 then 'python' else 'native' end end,
    case when crash then (array['SIGSEGV', 'SIGABRT'])[sig % 3] end,
    case when crash then (array['ValueError', 'libonnxruntime', 'std::bad_alloc'])[1 + sig % 3] end,
    case when crash then 'app.module_' || sig % 17 || '.run:' || 20 + sig end,
    case when crash then left(md5('crash ' || sig), 16) end,
    case when crash then uptime * 60 end,
    case when crash then 'faulting-thread' end,
    case when crash then version || '+' || 400 + release end,
    case when crash and sig % 3 = 2 then 'fork-safety' end
  from (
    select day, model, memory, sig, crash, u1, u2, normal, release, '3.' || release / 4 || '.' || release % 4 as version,
      greatest(0, (day - $1::date) / 30 - ${randomRank('u3', 1.5, 30)}) as os, least(3, floor(u4 * u4 * 4))::integer as camera,
      case when u5 < 0.85 then 'ane' else 'gpu' end as compute, floor(u3 * u4 * 700)::integer as uptime
    from (
      select *, greatest(0, (day - $1::date) / 21 - ${randomRank('u6', 1.5, 30)}) as release
      from (
        select $1::date + (n / $4::integer)::integer as day, ${randomRank('random()', 5, 39)} as model,
          ${randomRank('random()', 1.6, 9)} as memory, ${randomRank('random()', 40, 199)} as sig, random() < 0.002 as crash,
          random() as u1, random() as u2, random() as u3, random() as u4, random() as u5, random() as u6,
          random_normal() as normal
        from generate_series($2::bigint, $3::bigint) n) chances) released) heartbeat`;

/**
 * Fills `telemetry` from `first` (the first day of a month) up to the day before `end`, with the same number of rows each
 * day; if the number of days does not divide `rows`, the last days have fewer or none. The rows have the same order on disk as
 * after nightly runs: by day, and within a day by random id. The values, except the ids, depend on the options and the seed alone.
 */
export async function makeTelemetry(runner, { rows, seed, first, end }, progress) {
  // `setseed` accepts numbers up to 1.
  await runner.query('select setseed($1)', [(seed % 100_003) / 100_003]);
  const rowsPerDay = Math.ceil(rows / ((end - first) / DAY_MS));
  const last = new Date(end - DAY_MS);
  const monthCount =
    (last.getUTCFullYear() - first.getUTCFullYear()) * 12 + last.getUTCMonth() - first.getUTCMonth() + 1;
  for (let month = 0, from = 0; from < rows; month++) {
    const next = Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + month + 1, 1);
    const until = Math.min(rows, ((next - first) / DAY_MS) * rowsPerDay);
    await runner.query(`insert into telemetry ${SELECT_ROWS} order by day, 1`, [
      first.toISOString().slice(0, 10),
      from,
      until - 1,
      rowsPerDay,
    ]);
    from = until;
    progress(`rows of month ${month + 1} of ${monthCount}`);
  }
}

/**
 * Fills the inbox with rows of one day, in the order of arrival: their random ids are in no order.
 * @param first the first day of the data, on which the versions depend
 * @param index of the day, from 0
 */
export const fillInbox = (runner, { rows, first, index }) =>
  runner.query(`insert into telemetry_inbox ${SELECT_ROWS}`, [
    first.toISOString().slice(0, 10),
    index * rows,
    (index + 1) * rows - 1,
    rows,
  ]);
