import { expect, test } from '@jest/globals';
import { importFromBench } from '../support/import-from-bench.js';

const responses = (accepted: number, wrongByStatus: Record<string, number> = {}) => ({
  times: Array.from({ length: accepted }, () => 5),
  wrongByStatus,
});
const HEARTBEATS = { ...responses(10), processorMs: 100 };
const CODES = responses(2, { 429: 3, 503: 15 });
const FLOOD = { ...HEARTBEATS, processorMs: 200, codes: CODES, laterCodes: responses(1, { 503: 4 }) };

async function resultsPage(quiet: object, flood: object): Promise<string> {
  const { report } = await importFromBench('code-flood/report.mjs');
  const load = { version: 'PostgreSQL', licenses: 1_000, heartbeatsPerSecond: 50, mailDelayMs: 50 };
  return report(
    {
      ...load,
      quiet: [quiet],
      flood: [flood],
      keyMails: [100],
      codeMail: { status: 202, ms: 100 },
      mails: 4,
    },
    { rate: 300, rounds: 1, seconds: 5 },
  ) as string;
}

test('the results of a code flood count the responses, and divide the processor time by the codes of the measured time', async () => {
  const page = await resultsPage(HEARTBEATS, FLOOD);
  expect(page).not.toMatch(/NaN|undefined/);
  expect(page).toContain('3 were accepted, 3 were answered with 429 and 19 with 503.');
  expect(page).toContain('Each request for a code took the service 5.0 ms of processor time');
  expect(page).toContain('Every response was correct.');
});

test('the results of a code flood list the wrong responses by kind and status', async () => {
  const page = await resultsPage(
    { ...HEARTBEATS, wrongByStatus: { 503: 1 } },
    { ...FLOOD, wrongByStatus: { 503: 2 }, laterCodes: responses(1, { 0: 7 }) },
  );
  expect(page).toContain('heartbeat 503: 3 times; code 0: 7 times.');
});
