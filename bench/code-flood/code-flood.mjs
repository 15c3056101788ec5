// Measures what a flood of requests for sign-in codes costs other requests: npm run bench:code-flood [-- --rate N]
// [--write]. It compares heartbeats and mails with and without the flood, on a service in production mode with a slow mail
// server.
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { option, wholeNumbers } from '../command.mjs';
import { pageBench, versionOf } from '../run.mjs';
import { count, loadAtEnd, machine, median, quantile, reached, sum, table, time } from '../measure.mjs';

const SEATS = 1_000;
const HEARTBEATS_PER_SECOND = 50;
/** How long the mail server takes for each mail. */
const MAIL_MS = 50;
/** Limits: the slowest mail with a bought key, and the median heartbeat as a multiple of the one without the flood. */
const KEY_MAIL_AT_MOST_MS = 5_000;
const HEARTBEAT_AT_MOST = 2;

await pageBench(import.meta.url, { page: 'code-flood.md', parseOptions, measureAll, report });

function parseOptions() {
  const options = {
    rate: option('300'),
    rounds: option('5'),
    seconds: option('5'),
    write: { type: 'boolean' },
  };
  const { rate, rounds, seconds, write } = parseArgs({ options }).values;
  return { ...wholeNumbers({ rate, rounds, seconds }), write };
}

async function measureAll({ url, folder, processes, progress }, { rate, rounds, seconds }) {
  const { migrate } = await import('../../dist/database/migrations.js');
  const { makeData, seatIds } = await import('../load/data.mjs');
  const { MailSink } = await import('../load/mail-sink.mjs');
  const { processorTime } = await import('../load/processes.mjs');
  progress('data');
  await migrate(url);
  const data = await makeData(url, folder, seatIds(SEATS));
  const mails = new MailSink(MAIL_MS);
  const SMTP_URL = await mails.start();
  try {
    const mail = { SMTP_URL, MAIL_FROM: 'licenses@example.com' };
    const { port, pid } = await processes.service({ ...data.settings, ...mail });
    const [heartbeats, flood] = [1, 2].map(() => processes.load(data.file, 'steady.mjs'));
    await heartbeats({ begin: { port, rates: { heartbeat: HEARTBEATS_PER_SECOND } } });
    progress('warming up');
    await pause(3_000);
    await heartbeats({ take: true });
    const measured = { quiet: [], flood: [] };
    const keyMails = [];
    let codeMail;
    // The two alternate, so that other load of the machine affects both alike.
    for (let round = 1; round <= rounds; round += 1) {
      progress(`round ${round} of ${rounds}`);
      measured.quiet.push(await during(seconds, heartbeats, pid, processorTime));
      await flood({ begin: { port, rates: { code: rate } } });
      const [beats, bought] = await Promise.all([
        during(seconds, heartbeats, pid, processorTime),
        keyMailTimes({ port, data, mails, seconds }),
      ]);
      keyMails.push(...bought);
      if (round === rounds) codeMail = await ownCodeTime({ port, mails, seat: data.seats[0] });
      await flood({ end: true });
      measured.flood.push({ ...beats, codes: (await flood({ take: true })).kinds.code });
    }
    await heartbeats({ end: true });
    return { version: await versionOf(url), ...measured, keyMails, codeMail, mails: mails.count };
  } finally {
    mails.end();
  }
}

/** Heartbeats of some seconds, and the processor time that the service took for all that it did. */
async function during(seconds, heartbeats, pid, processorTime) {
  await heartbeats({ take: true });
  const before = processorTime(pid);
  await pause(seconds * 1_000);
  const processorMs = processorTime(pid) - before;
  return { ...(await heartbeats({ take: true })).kinds.heartbeat, processorMs };
}

/** A purchase each second of the flood. @returns milliseconds from the report to the mail with the key */
async function keyMailTimes({ port, data, mails, seconds }) {
  const { Webhook } = await import('standardwebhooks');
  const webhook = new Webhook(data.settings.PURCHASE_WEBHOOK_SECRET);
  const buy = async () => {
    const email = `${randomUUID()}@buyers.example`;
    const body = JSON.stringify({ transaction_id: randomUUID(), email, status: 'paid' });
    const [id, at] = [randomUUID(), new Date()];
    const headers = {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': webhook.sign(id, at, body),
    };
    const began = performance.now();
    const { status } = await fetch(`http://127.0.0.1:${port}/v1/purchases`, {
      method: 'POST',
      headers,
      body,
    });
    if (status !== 204) throw new Error(`A purchase was answered ${status}.`);
    return (await mails.mailTo(email, began)) - began;
  };
  const bought = [];
  for (let second = 1; second < seconds; second += 1) {
    await pause(1_000);
    bought.push(buy());
  }
  return Promise.all(bought);
}

/** A holder who is signed in by key asks for a code in the flood. @returns milliseconds until the mail is there */
async function ownCodeTime({ port, mails, seat: { email, cookie } }) {
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
  return { status, ms: status === 202 ? (await mails.mailTo(email, began)) - began : null };
}

function report({ version, quiet, flood, keyMails, codeMail, mails }, { rate, rounds, seconds }) {
  const p50 = ({ times }) => quantile(sorted(times), 0.5);
  const ratio = median(flood.map((round, place) => p50(round) / p50(quiet[place])));
  const accepted = sum(flood.map(({ codes }) => codes.times.length));
  const refused = sum(flood.map(({ codes }) => codes.wrong[503] ?? 0));
  const processor = (all) => sum(all.map(({ processorMs }) => processorMs));
  const keys = sorted(keyMails);
  return `# What a flood of requests for sign-in codes costs others

Measured on ${new Date().toISOString().slice(0, 10)} by \`npm run bench:code-flood -- --rate ${rate} --rounds ${rounds} --seconds ${seconds} --write\`: ${rounds} times ${seconds} seconds without
and with ${count(rate)} requests a second for codes, to made-up addresses and to those of ${count(SEATS)} licenses in turn; ${HEARTBEATS_PER_SECOND} heartbeats
a second all the time, and a mail server that takes ${MAIL_MS} ms for each mail.

${machine(version)} (${loadAtEnd()})

- Of the requests for codes ${count(accepted)} were taken and ${count(refused)} answered 503; ${count(mails)} mails were sent in all.
- Mails with a bought key were there after ${time(quantile(keys, 0.5))} (median of ${keys.length}) and ${time(keys.at(-1))} at the latest; wanted within ${time(KEY_MAIL_AT_MOST_MS)}: ${reached(keys.at(-1) <= KEY_MAIL_AT_MOST_MS)}.
- A holder signed in by key was answered ${codeMail.status}${codeMail.ms === null ? '' : `, and had a code after ${time(codeMail.ms)}`}.
- The median heartbeat took ${ratio.toFixed(2)} times as long as without the flood (median of the rounds); wanted at most ${HEARTBEAT_AT_MOST} times: ${reached(ratio <= HEARTBEAT_AT_MOST)}.
- A request for a code cost the service ${time((processor(flood) - processor(quiet)) / (accepted + refused))} of processor time, purchases and mails included.

${table([['round', 'quiet p50', 'flood p50', 'quiet p99', 'flood p99'], ...quiet.map((round, place) => [String(place + 1), ...[0.5, 0.99].flatMap((share) => [round, flood[place]].map(({ times }) => time(quantile(sorted(times), share))))])])}
`;
}

function sorted(measurements) {
  return measurements.toSorted((a, b) => a - b);
}
