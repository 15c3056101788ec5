import {
  describeErrors,
  describeLoad,
  describeMachine,
  formatCount,
  formatTime,
  median,
  quantile,
  reachedOrMissed,
  sum,
  table,
} from '../measure.mjs';

/** The goal for the slowest mail with a license key. */
const MAX_KEY_MAIL_MS = 5_000;
/** The goal for the median heartbeat during the flood, as a multiple of the median without the flood. */
const MAX_HEARTBEAT_RATIO = 2;
/** The statuses with which a request for a code is refused: above the limit of one address, and above that of all together. */
const REFUSALS = ['429', '503'];

/** Writes the measurements as a page of Markdown. */
export function report(
  { version, licenses, heartbeatsPerSecond, mailDelayMs, quiet, flood, keyMails, codeMail, mails },
  { rate, rounds, seconds },
) {
  const p50 = ({ times }) => quantile(sorted(times), 0.5);
  const ratio = median(flood.map((round, index) => p50(round) / p50(quiet[index])));
  const allCodes = flood.flatMap(({ codes, laterCodes }) => [codes, laterCodes]);
  const [tooMany, unavailable] = REFUSALS.map((status) => countStatus(allCodes, status));
  const processor = (measurements) => sum(measurements.map(({ processorMs }) => processorMs));
  const keys = sorted(keyMails);
  return `# How a flood of requests for sign-in codes affects other requests

Measured on ${new Date().toISOString().slice(0, 10)} by \`npm run bench:code-flood -- --rate ${rate} --rounds ${rounds} --seconds ${seconds} --write\`: ${rounds} rounds of ${seconds} seconds without
the flood and ${seconds} seconds with it. The flood has ${formatCount(rate)} requests for codes a second, alternately for made-up addresses and for
those of ${formatCount(licenses)} licenses. The load has ${heartbeatsPerSecond} heartbeats a second all the time, and the mail server takes ${mailDelayMs} ms for each mail.
During the flood a purchase is reported after each second but the last; each one causes a mail with a license key.

${describeMachine(version)} Load of the machine: ${describeLoad()}.
${describeErrors(describeWrongResponses([...quiet, ...flood], allCodes))}

- Of the requests for codes, ${formatCount(countAccepted(allCodes))} were accepted, ${formatCount(tooMany)} were answered with 429 and ${formatCount(unavailable)} with 503. In total ${formatCount(mails)} mails were sent.
- Mails with a license key arrived after ${formatTime(quantile(keys, 0.5))} (median of ${keys.length}) and after ${formatTime(keys.at(-1))} at the latest; the goal is at most ${formatTime(MAX_KEY_MAIL_MS)}: ${reachedOrMissed(keys.at(-1) <= MAX_KEY_MAIL_MS)}.
- The request for a sign-in code by a holder who had signed in with a license key was answered with ${codeMail.status}${codeMail.ms === null ? '' : `, and the code arrived after ${formatTime(codeMail.ms)}`}.
- The median heartbeat took ${ratio.toFixed(2)} times as long as without the flood (median of the rounds); the goal is at most ${MAX_HEARTBEAT_RATIO} times: ${reachedOrMissed(ratio <= MAX_HEARTBEAT_RATIO)}.
- Each request for a code took the service ${formatTime((processor(flood) - processor(quiet)) / countAnswered(flood.map(({ codes }) => codes)))} of processor time, including the purchases and the mails.

${table([['round', 'p50 without', 'p50 with the flood', 'p99 without', 'p99 with the flood'], ...quiet.map((round, index) => [String(index + 1), ...[0.5, 0.99].flatMap((share) => [round, flood[index]].map(({ times }) => formatTime(quantile(sorted(times), share))))])])}
`;
}

const countAccepted = (codes) => sum(codes.map(({ times }) => times.length));
const countStatus = (codes, status) => sum(codes.map(({ wrongByStatus }) => wrongByStatus[status] ?? 0));
const countAnswered = (codes) =>
  countAccepted(codes) + sum(REFUSALS.map((status) => countStatus(codes, status)));

/** Describes the wrong responses: the kind and status of each, and how often it came. */
function describeWrongResponses(heartbeats, codes) {
  return [
    ...countWrong('heartbeat', heartbeats, () => true),
    ...countWrong('code', codes, (status) => !REFUSALS.includes(status)),
  ];
}

function countWrong(kind, measurements, isWrong) {
  const statuses = new Set(measurements.flatMap(({ wrongByStatus }) => Object.keys(wrongByStatus)));
  return [...statuses]
    .filter(isWrong)
    .map((status) => `${kind} ${status}: ${countStatus(measurements, status)} times`);
}

function sorted(measurements) {
  return measurements.toSorted((a, b) => a - b);
}
