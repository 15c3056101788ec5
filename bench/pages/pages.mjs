// Measures the pages with the network and the processor of a slow phone, and how a license that is in use on all its machines
// is moved to a new machine: npm run bench:pages [-- --rounds N] [--write]. The bench uses a service with
// sample data and the brand of a vendor, and a Chromium.
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findChromium } from '../../scripts/chromium.mjs';
import { fillFleet } from '../../scripts/pictures/fleet.mjs';
import { brandSettings, SampleVendor } from '../../scripts/pictures/sample-vendor.mjs';
import { ensureClientBuilt } from '../../scripts/prepare.mjs';
import { withSampleService } from '../../scripts/sample-service.mjs';
import { signInByKey, signInStaff } from '../../scripts/sample-sign-in.mjs';
import { readBenchOptions, runBench } from '../command.mjs';
import { median } from '../measure.mjs';
import { formatMarkdown, withTemporaryFolder } from '../run.mjs';
import { drawLogo } from './logo.mjs';
import { measurePage } from './measure-page.mjs';
import { moveToNewMachine } from './move.mjs';
import { findMissedGoals, report } from './report.mjs';

const SIZES = [
  { width: 320, height: 640 },
  { width: 1280, height: 800 },
];
/** The timeout for a page that hangs. A busy machine is slow. */
const TIMEOUT_MS = 120_000;

/** The languages of the portal, each with the locale of a browser. */
const LOCALES = { en: 'en-GB', de: 'de-DE', fr: 'fr-FR', ja: 'ja-JP' };

/** The limits: the bytes of a page without and with the logo of the vendor, and the time until the page is usable. */
const PORTAL_GOAL = { bytes: 30_000, bytesWithLogo: 30 * 1024, ms: 1_500 };
const SUPPORT_GOAL = { ms: 2_000 };

/**
 * The pages, each with its path (by default the `release_url` of a new refusal), the element that a person waits for, the
 * browser context that opens it (`as`, a key of `contexts`, which decides who is signed in), and the goals for the load.
 */
const PAGES = [
  ...Object.keys(LOCALES).flatMap((tag) =>
    [
      { name: 'signed out', path: '/portal/', selector: 'form input', as: tag },
      { name: 'signed in', path: '/portal/', selector: 'table', as: `${tag} holder` },
      { name: 'opened by the application', selector: 'main .button.primary', as: tag },
    ].map((row) => ({ ...row, name: `portal (${tag}), ${row.name}`, goal: PORTAL_GOAL })),
  ),
  { name: 'support, signed in', path: '/support/', selector: 'form input', as: 'staff', goal: SUPPORT_GOAL },
  { name: 'support, fleet', path: '/support/#fleet', selector: 'canvas', as: 'staff', goal: SUPPORT_GOAL },
  { name: 'privacy', path: '/privacy/', selector: 'table', as: 'en', goal: {} },
];

const parseOptions = () => readBenchOptions({ rounds: 9 });

await runBench(import.meta.url, parseOptions, ({ rounds, write }) =>
  withTemporaryFolder('mooring-pages-', async ({ folder, interrupted }) => {
    await ensureClientBuilt();
    const settings = brandSettings();
    // This logo has as many bytes as a usual one. The logo of `brandSettings` has fewer.
    settings.LOGO_FILE = join(folder, 'logo.png');
    writeFileSync(settings.LOGO_FILE, drawLogo());
    const work = (service) => measureAll(service, folder, rounds);
    const measured = withSampleService(join(folder, 'data'), work, settings);
    const measurements = await Promise.race([measured, interrupted]);
    const text = await formatMarkdown(report(measurements, rounds));
    if (write) writeFileSync(new URL('pages.md', import.meta.url), text);
    process.stdout.write(text);
    const missed = findMissedGoals(measurements);
    for (const name of missed) process.stderr.write(`A goal is missed: ${name}.\n`);
    return missed.length > 0 ? 1 : 0;
  }),
);
async function measureAll(service, folder, rounds) {
  const { chromium } = await import('playwright-core');
  const { origin, welcome } = service;
  const holder = { license_key: /MOOR_\S+/.exec(welcome)[0], email: 'ada@example.com' };
  const staffLink = /http\S+#link=\S+/.exec(welcome)[0];
  const vendor = new SampleVendor(service);
  await vendor.withDatabase(fillFleet);
  const machinesAllowed = await activateMachines(origin, holder);
  const browser = await chromium.launch(await findChromium());
  try {
    const newContext = async (locale = LOCALES.en) => {
      const context = await browser.newContext({ baseURL: origin, locale, reducedMotion: 'reduce' });
      context.setDefaultTimeout(TIMEOUT_MS);
      return context;
    };
    const contexts = { staff: await newContext() };
    for (const [tag, locale] of Object.entries(LOCALES)) {
      contexts[tag] = await newContext(locale);
      contexts[`${tag} holder`] = await newContext(locale);
      await signInByKey(await contexts[`${tag} holder`].newPage(), holder);
    }
    await signInStaff(await contexts.staff.newPage(), staffLink);
    for (const context of Object.values(contexts))
      await Promise.all(context.pages().map((page) => page.close()));
    const rows = PAGES.flatMap((page) => SIZES.map((size) => ({ ...page, size, measured: [] })));
    // The rounds alternate between the pages, so that other work of the machine affects all of them alike.
    for (let round = 0; round < rounds; round += 1)
      for (const { as, path, selector, size, measured } of rows) {
        // A `release_url` is valid for ten minutes only.
        const url = path ?? (await activate(origin, holder, 'refused')).release_url;
        measured.push(await measurePage(contexts[as], url, selector, size));
      }
    const page = await (await newContext()).newPage();
    const move = await moveToNewMachine(page, origin, holder, folder, vendor.outbox);
    return { rows: rows.map(summarize), move: { ...move, machinesAllowed } };
  } finally {
    await browser.close();
  }
}

/** Reduces the loads of a page to medians, and the layout shift to its largest value. */
function summarize({ measured, ...row }) {
  return {
    ...row,
    bytes: median(measured.map(({ bytes }) => bytes)),
    logoBytes: median(measured.map(({ logoBytes }) => logoBytes)),
    usableMs: median(measured.map(({ usableMs }) => usableMs)),
    shift: Math.max(...measured.map(({ shift }) => shift)),
  };
}

/** Activates machines until the license is full. @returns the machine limit */
async function activateMachines(origin, holder) {
  for (let number = 1; ; number += 1)
    if ((await activate(origin, holder, `${number}`)).code === 'machine_limit_reached') return number - 1;
}

/** Activates a machine. @returns the answer of the service, also of a refusal because all machines are in use */
async function activate(origin, holder, name) {
  const machine_id = createHash('sha256').update(`machine ${name}`).digest('hex');
  const body = JSON.stringify({
    ...holder,
    machine_id,
    hostname_hint: `Mac ${name}`,
    app_version: '3.2.0',
  });
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${origin}/v1/activate`, { method: 'POST', headers, body });
  if (![201, 409].includes(answer.status))
    throw new Error(`The activation of ${name} was answered with ${answer.status}.`);
  return answer.json();
}
