// Invented weekly counts for the pictures: installations that update from one version to the next.

const WEEKS = 12;
const WEEK_MS = 7 * 86_400_000;
const VERSIONS = ['2.9.1', '3.0.0', '3.1.0', '3.2.0'];
/** For each chip a model that has it, and the median latency of the detector in milliseconds. */
const CHIPS = {
  'Apple M1': ['MacBookAir10,1', 46],
  'Apple M2': ['Mac14,2', 34],
  'Apple M3': ['Mac15,3', 27],
  'Apple M4': ['Mac16,1', 19],
};

/** Each crash group has two versions: that of its crashes in the first weeks, and that of its crashes in the last four weeks. */
const CRASHES = [
  {
    sig: '9f86d081884c7d65',
    label: 'libonnxruntime',
    frame: 'app.detector.run:120',
    versions: ['3.1.0', '3.2.0'],
  },
  { sig: '60303ae22b998861', label: 'ValueError', frame: 'app.camera.open:48', versions: ['3.0.0', '3.1.0'] },
  { sig: 'fd61a03af4f77d87', label: null, frame: null, versions: ['3.1.0', '3.2.0'] },
];

/** Inserts twelve weeks of counts. @param client of pg */
export async function fillFleet(client) {
  const insertCell = (week, dimension, value, value_2, heartbeats) =>
    client.query(
      'insert into fleet_cell (week_end, dimension, value, value_2, is_other, heartbeats) values ($1, $2, $3, $4, false, $5)',
      [week, dimension, value, value_2, Math.round(heartbeats)],
    );
  for (let weeksBefore = WEEKS; weeksBefore >= 1; weeksBefore -= 1) {
    const [week, progress] = [sundayOf(weeksBefore), (WEEKS - weeksBefore) / WEEKS];
    await client.query('insert into fleet_week values ($1) on conflict do nothing', [week]);
    for (const [i, version] of VERSIONS.entries()) {
      // The count of each version rises, and falls after the next version is published.
      const share = Math.exp(-((progress * 4 - i - 0.3) ** 2));
      await insertCell(week, 'app_version', version, null, 400 + 60_000 * share * (1 + progress));
    }
    for (const [i, os] of ['macOS 14.7', 'macOS 15.6', 'macOS 26.1'].entries())
      await insertCell(week, 'os_version', os, null, 9_000 + 16_000 * Math.abs(progress - (2 - i) / 2));
    for (const [i, [chip, [model, ms]]] of Object.entries(CHIPS).entries()) {
      await insertCell(week, 'hardware', model, chip, 24_000 - 4_500 * i + 9_000 * progress * i);
      await client.query('insert into fleet_latency values ($1, $2, $3, $4, $5)', [
        week,
        chip,
        ms,
        Math.round(ms * 1.6),
        Math.round(ms * 2.1),
      ]);
    }
    for (const [i, memory] of ['8', '16', '32', '64'].entries())
      await insertCell(week, 'ram_gb_bucket', memory, null, [21, 34, 14, 4][i] * 1_000);
    await insertCell(week, 'detector_compute', 'ane', 'cpuAndNeuralEngine', 52_000);
    await insertCell(week, 'detector_compute', 'ane', 'cpuOnly', 2_400);
    await insertCell(week, 'detector_compute', 'gpu', 'cpuAndGPU', 11_000);
    for (const [i, { sig, label, frame, versions }] of CRASHES.entries())
      await client.query('insert into crash_week values ($1, $2, $3, $4, $5, $6)', [
        week,
        sig,
        versions[progress < 0.6 ? 0 : 1],
        label,
        frame,
        Math.round((6 + 40 * Math.exp(-((progress - 0.5 - i / 5) ** 2) * 20)) / (i + 1)),
      ]);
  }
}

/** Returns the Sunday that ended a past week. @param weeksAgo 1 for the latest Sunday before today */
function sundayOf(weeksAgo) {
  const now = Date.now();
  const last = now - ((new Date(now).getUTCDay() || 7) * WEEK_MS) / 7;
  return new Date(last - (weeksAgo - 1) * WEEK_MS).toISOString().slice(0, 10);
}
