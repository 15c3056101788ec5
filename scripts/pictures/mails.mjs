// Reads the mails of the outbox, and takes pictures of them.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const POLL_MS = 100;
/** The kinds of mail except that of an import, in the order of the pictures: the beginning of the subject, and the recipient. */
const SHEETS = [
  {
    name: 'mails-license',
    sentence: 'The mails about a license: bought, its key sent again or replaced, and a changed address.',
    mails: [
      [/^Your license key/, 'gus@example.com'],
      [/^Your license key/, 'bea.lovelace@example.com'],
      [/^Your new license key/, 'bea.lovelace@example.com'],
      [/^The e-mail address/, 'bea@example.com'],
    ],
  },
  {
    name: 'mails-machines',
    sentence: 'The mails about machines: activated, released, a release requested, and a request declined.',
    mails: [
      [/^“Reception”/, 'bea@example.com'],
      [/^A machine was released/, 'ada@example.com'],
      [/^You asked to release/, 'hedy@example.com'],
      [/^A machine stays/, 'ada@example.com'],
    ],
  },
  {
    name: 'mails-account',
    sentence: 'The mails about a sign-in and an erasure, and those to staff.',
    mails: [
      [/^\d{4} \d{4}/, 'hedy@example.com'],
      [/^You asked for your data/, 'ada@example.com'],
      [/^Your data/, 'ida@example.com'],
      [/^Your link/, 'grace@tidewater.example'],
      [/^A new passkey/, 'admin@example.com'],
    ],
  },
];

/** Waits for a mail and returns it. @param isWanted receives a mail: `file`, `to`, `subject`, `html` */
async function waitForMail(outbox, isWanted) {
  for (;;) {
    const found = readMails(outbox).find(isWanted);
    if (found) return found;
    await pause(POLL_MS);
  }
}

/** Calls `work`, which requests a sign-in code for an address. @returns the code of the mail */
export async function codeAfter(outbox, email, work) {
  const before = new Set(readMails(outbox).map(({ file }) => file));
  await work();
  const mail = await waitForMail(
    outbox,
    ({ file, to, subject }) => !before.has(file) && to === email && /^\d{4} \d{4}/.test(subject),
  );
  return mail.subject.slice(0, 9);
}

/** Takes the pictures of the mails: one for each group of kinds. @param {string} origin of the service */
export async function takeMailPictures(camera, outbox, origin) {
  camera.beginSection('Mails');
  const page = await camera.openPage({ viewport: { width: 1280, height: 800 } });
  for (const { name, sentence, mails } of SHEETS) {
    const shown = [];
    for (const [pattern, recipient] of mails) {
      const isWanted = ({ to, subject }) => to === recipient && pattern.test(subject);
      const { subject, html } = await waitForMail(outbox, isWanted);
      // The port of the temporary service is different in each run.
      shown.push({ subject, html: html.replaceAll(origin, 'https://licenses.tidewater.example') });
    }
    await page.setContent(SHEET);
    await page.evaluate(showMails, shown);
    await camera.take(page, name, sentence);
  }
}

const SHEET = `<!doctype html><style>
  body { margin: 0; padding: 16px; columns: 2; column-gap: 16px; background: #d9e0e2; font: 14px/1.4 system-ui, sans-serif }
  section { break-inside: avoid; margin-bottom: 16px; background: #fff }
  h2 { margin: 0; padding: 8px 16px; background: #eef2f3; font-size: 14px }
  iframe { display: block; width: 100%; border: 0 }
</style>`;

/** Runs in the page. Each mail has a frame of its own, as in a mail client. */
async function showMails(mails) {
  const { document } = globalThis;
  for (const { subject, html } of mails) {
    const [section, title, frame] = ['section', 'h2', 'iframe'].map((name) => document.createElement(name));
    title.textContent = subject;
    section.append(title, frame);
    document.body.append(section);
    const loaded = new Promise((resolve) => frame.addEventListener('load', resolve, { once: true }));
    frame.srcdoc = html;
    await loaded;
    frame.height = frame.contentDocument.documentElement.scrollHeight;
  }
}

function readMails(outbox) {
  const files = readdirSync(outbox).filter((name) => name.endsWith('.eml'));
  return files.toSorted().map((file) => ({ file, ...parseMail(readFileSync(join(outbox, file), 'latin1')) }));
}

function parseMail(raw) {
  const [headers] = raw.split('\n\n', 1);
  const header = (name) =>
    new RegExp(`^${name}: (.*(?:\\n .*)*)`, 'm').exec(headers)[1].replaceAll(/\n /g, ' ');
  const parts = raw.split(/^--.+$/m);
  const part = parts.find((each) => /^Content-Type: text\/html/im.test(each));
  const [head, ...body] = part.trimStart().split('\n\n');
  const encoding = /base64/i.test(head) ? 'base64' : 'quoted-printable';
  // A mail client shows the image of the mail; the browser of the pictures needs it in the HTML.
  const html = decode(body.join('\n\n'), encoding).replace(/cid:[^"]+/, imageUrl(parts));
  return { to: header('To'), subject: decodeWords(header('Subject')), html };
}

/** Returns the logo of a mail as a URL; an empty text if the mail has none. */
function imageUrl(parts) {
  const image = parts.find((each) => /^Content-Type: image\/png/im.test(each));
  return image ? `data:image/png;base64,${image.trimStart().split('\n\n')[1].replaceAll('\n', '')}` : '';
}

/** Decodes the encoded words of a header (RFC 2047). */
function decodeWords(text) {
  return text.replaceAll(/=\?utf-8\?([BQ])\?([^?]*)\?=(?: (?==\?))?/gi, (_word, kind, encoded) =>
    /b/i.test(kind) ? decode(encoded, 'base64') : decode(encoded.replaceAll('_', ' '), 'quoted-printable'),
  );
}

function decode(text, encoding) {
  if (encoding === 'base64') return Buffer.from(text, 'base64').toString('utf8');
  const toCharacter = (_code, hex) => String.fromCharCode(parseInt(hex, 16));
  const bytes = text.replaceAll(/=\r?\n/g, '').replaceAll(/=([0-9A-F]{2})/g, toCharacter);
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
