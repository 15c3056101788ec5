// Measures the pages with the network and the processor of a slow phone, and how a license that is in use on all its machines
// is moved to a new machine: npm run bench:pages [-- --rounds N] [--write]. The bench uses a service with sample data and a Chromium.
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import { findChromium } from '../../scripts/chromium.mjs';
import { fillFleet } from '../../scripts/pictures/fleet.mjs';
import { ensureClientBuilt } from '../../scripts/prepare.mjs';
import { withSampleService } from '../../scripts/sample-service.mjs';
import { signInByKey, signInStaff } from '../../scripts/sample-sign-in.mjs';
import { option, parseWholeNumbers, runBench } from '../command.mjs';
import { median } from '../measure.mjs';
import { formatMarkdown, withTemporaryFolder } from '../run.mjs';
import { measurePage } from './measure-page.mjs';
import { moveToNewMachine } from './move.mjs';
import { findMissedGoals, report } from './report.mjs';

const SIZES = [
  { width: 320, height: 640 },
  { width: 1280, height: 800 },
];
/** The timeout for a page that hangs. A busy machine is slow. */
const TIMEOUT_MS = 120_000;

/** The holder may release a machine without support. */
const SETTINGS = { SELF_RELEASES_PER_YEAR: '1' };

/** The pages, each with the element that a person waits for, who is signed in (`as`), and the goals for the load. */
const PAGES = [
  { name: 'portal, signed out', path: '/portal/', selector: 'form input', goal: { kib: 30, ms: 1_500 } },
  {
    name: 'portal in German, signed out',
    path: '/portal/',
    selector: 'form input',
    as: 'german',
    goal: { kib: 30, ms: 1_500 },
  },
  {
    name: 'portal, signed in',
    path: '/portal/',
    selector: 'table',
    as: 'holder',
    goal: { kib: 30, ms: 1_500 },
  },
  {
    name: 'portal in German, signed in',
    path: '/portal/',
    selector: 'table',
    as: 'germanHolder',
    goal: { kib: 30, ms: 1_500 },
  },
  { name: 'support, signed in', path: '/support/', selector: 'form input', as: 'staff', goal: { ms: 2_000 } },
  { name: 'support, fleet', path: '/support/#fleet', selector: 'canvas', as: 'staff', goal: { ms: 2_000 } },
  { name: 'privacy', path: '/privacy/', selector: 'table', goal: {} },
];

await runBench(import.meta.url, parseOptions, ({ rounds, write }) =>
  withTemporaryFolder('mooring-pages-', async ({ folder, interrupted }) => {
    await ensureClientBuilt();
    const dataDir = join(folder, 'data');
    const work = (service) => measureAll(service, dataDir, folder, rounds);
    const measurements = await Promise.race([withSampleService(dataDir, work, SETTINGS), interrupted]);
    const text = await formatMarkdown(report(measurements, rounds));
    if (write) writeFileSync(new URL('pages.md', import.meta.url), text);
    process.stdout.write(text);
    const missed = findMissedGoals(measurements);
    for (const name of missed) process.stderr.write(`A goal is missed: ${name}.\n`);
    return missed.length > 0 ? 1 : 0;
  }),
);

function parseOptions() {
  const { rounds, write } = parseArgs({
    options: { rounds: option('9'), write: { type: 'boolean' } },
  }).values;
  return { ...parseWholeNumbers({ rounds }), write };
}

async function measureAll({ origin, welcome }, dataDir, folder, rounds) {
  const holder = { license_key: /MOOR_\S+/.exec(welcome)[0], email: 'ada@example.com' };
  const staffLink = /http\S+#link=\S+/.exec(welcome)[0];
  await fillFleet(dataDir);
  const machinesAllowed = await activateMachines(origin, holder);
  const browser = await chromium.launch(await findChromium());
  try {
    const newContext = async (locale = 'en-GB') => {
      const context = await browser.newContext({ baseURL: origin, locale, reducedMotion: 'reduce' });
      context.setDefaultTimeout(TIMEOUT_MS);
      return context;
    };
    const contexts = {
      signedOut: await newContext(),
      german: await newContext('de-DE'),
      holder: await newContext(),
      germanHolder: await newContext('de-DE'),
      staff: await newContext(),
    };
    for (const context of [contexts.holder, contexts.germanHolder])
      await signInByKey(await context.newPage(), holder);
    await signInStaff(await contexts.staff.newPage(), staffLink);
    for (const context of Object.values(contexts))
      await Promise.all(context.pages().map((page) => page.close()));
    const rows = PAGES.flatMap((page) => SIZES.map((size) => ({ ...page, size, measured: [] })));
    // The rounds alternate between the pages, so that other work of the machine affects all of them alike.
    for (let round = 0; round < rounds; round += 1)
      for (const { as = 'signedOut', path, selector, size, measured } of rows)
        measured.push(await measurePage(contexts[as], path, selector, size));
    const page = await (await newContext()).newPage();
    const move = await moveToNewMachine(page, origin, holder, folder, join(dataDir, 'outbox'));
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
    usableMs: median(measured.map(({ usableMs }) => usableMs)),
    shift: Math.max(...measured.map(({ shift }) => shift)),
  };
}

/** Activates machines until the license is full. @returns the machine limit */
async function activateMachines(origin, holder) {
  for (let number = 1; ; number += 1) {
    const machine_id = createHash('sha256').update(`machine ${number}`).digest('hex');
    const body = JSON.stringify({
      ...holder,
      machine_id,
      hostname_hint: `Mac ${number}`,
      app_version: '3.2.0',
    });
    const headers = { 'content-type': 'application/json' };
    const { status } = await fetch(`${origin}/v1/activate`, { method: 'POST', headers, body });
    if (status === 409) return number - 1;
    if (status !== 201) throw new Error(`The activation of machine ${number} was answered with ${status}.`);
  }
}
