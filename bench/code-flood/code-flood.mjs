// Measures how a flood of requests for sign-in codes affects other requests: npm run bench:code-flood [-- --rate N]
// [--rounds N] [--seconds N] [--write]. The bench compares heartbeats with and without the flood, and measures mails during it, on
// a service in production mode with a slow mail server.
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { ScriptError } from '../../scripts/prepare.mjs';
import { readBenchOptions } from '../command.mjs';
import { prepareData } from '../load/data.mjs';
import { MailSink } from '../load/mail-sink.mjs';
import { readProcessorTime } from '../load/processes.mjs';
import { webhookHeaders } from '../load/requests.mjs';
import { runPageBench, postgresVersion } from '../run.mjs';
import { report } from './report.mjs';

const LICENSES = 1_000;
const HEARTBEATS_PER_SECOND = 50;
/** How long the mail server takes for each mail. */
const MAIL_DELAY_MS = 50;

await runPageBench(import.meta.url, { page: 'code-flood.md', parseOptions, measureAll, report });

function parseOptions() {
  const options = readBenchOptions({ rate: 300, rounds: 5, seconds: 5 });
  // A purchase is reported after each second but the last.
  if (options.seconds < 2) throw new ScriptError('--seconds must be at least 2.');
  return options;
}

async function measureAll(environment, { rate, rounds, seconds }) {
  const { url, processes, progress } = environment;
  const data = await prepareData(environment, LICENSES);
  const mails = new MailSink(MAIL_DELAY_MS);
  const SMTP_URL = await mails.start();
  try {
    const mail = { SMTP_URL, MAIL_FROM: 'licenses@example.com' };
    const { port, pid } = await processes.startService({ ...data.settings, ...mail });
    const [heartbeats, flood] = [1, 2].map(() => processes.startLoad(data.file, 'steady.mjs'));
    await heartbeats({ begin: { port, rates: { heartbeat: HEARTBEATS_PER_SECOND } } });
    progress('warming up');
    await pause(3_000);
    await heartbeats({ collect: true });
    const measured = { quiet: [], flood: [] };
    const keyMails = [];
    let codeMail;
    // Rounds with and without the flood alternate, so that other work of the machine affects both alike.
    for (let round = 1; round <= rounds; round += 1) {
      progress(`round ${round} of ${rounds}`);
      measured.quiet.push(await measureHeartbeats(seconds, heartbeats, pid));
      await flood({ begin: { port, rates: { code: rate } } });
      const measureFlood = async () => ({
        ...(await measureHeartbeats(seconds, heartbeats, pid)),
        codes: (await flood({ collect: true })).kinds.code,
      });
      const [floodMeasurements, times] = await Promise.all([
        measureFlood(),
        measureKeyMails({ port, data, mails, seconds }),
      ]);
      keyMails.push(...times);
      if (round === rounds)
        codeMail = await measureHolderCode({ port, mails, activation: data.activations[0] });
      await flood({ end: true });
      // The flood went on until these mails arrived. No processor time was measured for its later requests, so they are kept apart.
      measured.flood.push({ ...floodMeasurements, laterCodes: (await flood({ collect: true })).kinds.code });
    }
    await heartbeats({ end: true });
    return {
      version: await postgresVersion(url),
      licenses: LICENSES,
      heartbeatsPerSecond: HEARTBEATS_PER_SECOND,
      mailDelayMs: MAIL_DELAY_MS,
      ...measured,
      keyMails,
      codeMail,
      mails: mails.count,
    };
  } finally {
    mails.end();
  }
}

/** Measures heartbeats for some seconds. @returns their times, and the processor time of the service for all its work */
async function measureHeartbeats(seconds, heartbeats, pid) {
  await heartbeats({ collect: true });
  const before = readProcessorTime(pid);
  await pause(seconds * 1_000);
  const processorMs = readProcessorTime(pid) - before;
  return { ...(await heartbeats({ collect: true })).kinds.heartbeat, processorMs };
}

/**
 * Reports a purchase after each second but the last.
 * @returns milliseconds from each report to the mail with the license key
 */
async function measureKeyMails({ port, data, mails, seconds }) {
  const buy = async () => {
    const email = `${randomUUID()}@buyers.example`;
    const body = JSON.stringify({ transaction_id: randomUUID(), email, status: 'paid' });
    const headers = {
      'content-type': 'application/json',
      ...webhookHeaders(data.settings.PURCHASE_WEBHOOK_SECRET, body),
    };
    const began = performance.now();
    const { status } = await fetch(`http://127.0.0.1:${port}/v1/purchases`, {
      method: 'POST',
      headers,
      body,
    });
    if (status !== 204)
      throw new Error(`The report of a purchase was answered with ${status} instead of 204.`);
    return (await mails.untilMailTo(email, began)) - began;
  };
  const purchases = [];
  for (let second = 1; second < seconds; second += 1) {
    await pause(1_000);
    purchases.push(buy());
  }
  return Promise.all(purchases);
}

/**
 * A holder who signed in with a license key requests a code during the flood.
 * @returns the status, and the milliseconds until the mail arrives (null if the request is refused)
 */
async function measureHolderCode({ port, mails, activation: { email, cookie } }) {
  const headers = {
    'content-type': 'application/json',
    cookie: `mooring_holder=${cookie}`,
    origin: `http://localhost:${port}`,
  };
  const began = performance.now();
  const body = JSON.stringify({ email });
  const { status } = await fetch(`http://127.0.0.1:${port}/portal/api/session/code`, {
    method: 'POST',
    headers,
    body,
  });
  return { status, ms: status === 202 ? (await mails.untilMailTo(email, began)) - began : null };
}
