// npm run pictures: takes the pictures of the pages and of a mail, from a temporary service with invented data.
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { findChromium } from './chromium.mjs';
import { fillFleet } from './pictures-fleet.mjs';
import { command, ensureBuilt, ensureInstalled, ensureWebBuilt, root } from './prepare.mjs';
import { withSampleService } from './sample-service.mjs';

const OUTPUT_DIR = join(root, 'docs/pages');
const SIZE = { width: 1120, height: 760 };
const PHONE = { width: 390, height: 844 };
const EMAIL = 'ada@example.com';
const MACHINES = ['Studio Mac', 'Ada’s MacBook Air'];

await command(async () => {
  await ensureInstalled();
  await ensureBuilt();
  await ensureWebBuilt();
  const folder = mkdtempSync(join(tmpdir(), 'mooring-pictures-'));
  mkdirSync(OUTPUT_DIR, { recursive: true });
  try {
    const dataDir = join(folder, 'data');
    await withSampleService(dataDir, (service) => takePictures(service, dataDir));
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

async function takePictures({ origin, welcome }, dataDir) {
  const holder = { license_key: /MOOR_\S+/.exec(welcome)[0], email: EMAIL };
  const [link] = /http\S+#link=\S+/.exec(welcome);
  await fillFleet(dataDir);
  const browser = await chromium.launch(await findChromium());
  try {
    await takePortalPicture(await openPage(browser, origin), holder);
    const phone = { locale: 'de-DE', colorScheme: 'dark', viewport: PHONE };
    await takeGermanPicture(await openPage(browser, origin, phone), holder);
    await takeSupportPictures(await openPage(browser, origin), link);
    await takeMailPicture(await openPage(browser, origin), join(dataDir, 'outbox'));
    const page = await openPage(browser, origin);
    await page.goto('/privacy/');
    await page.getByRole('table').first().waitFor();
    await takePicture(page, 'privacy');
  } finally {
    await browser.close();
  }
}

async function openPage(browser, baseURL, options = {}) {
  const context = await browser.newContext({
    baseURL,
    locale: 'en-GB',
    viewport: SIZE,
    reducedMotion: 'reduce',
    ...options,
  });
  return context.newPage();
}

async function signIn(page, { license_key, email }) {
  await page.goto('/portal/');
  await page.locator('input[name=email]').fill(email);
  await page.locator('input[name=license_key]').fill(license_key);
  await page.keyboard.press('Enter');
  await page.getByRole('table').first().waitFor();
}

async function takePortalPicture(page, holder) {
  for (const name of MACHINES) {
    const machine_id = createHash('sha256').update(name).digest('hex');
    const data = { ...holder, machine_id, hostname_hint: name, app_version: '3.2.0' };
    await page.request.post('/v1/activate', { data });
  }
  await signIn(page, holder);
  await takePicture(page, 'portal');
}

/** The portal on a phone, in German and dark. The holder asks for a release of the first machine, so that support has a request. */
async function takeGermanPicture(page, holder) {
  await signIn(page, holder);
  await takePicture(page, 'portal-german');
  await page.getByRole('row', { name: MACHINES[0] }).getByRole('button').click();
  await page.getByRole('dialog').getByRole('textbox').fill('Der alte Mac ist verkauft.');
  await page.getByRole('dialog').locator('button[type=submit]').click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

async function takeSupportPictures(page, link) {
  await page.goto(link);
  await page.getByRole('button', { name: 'Sign in with this link' }).click();
  await page.getByRole('button', { name: 'Later' }).click();
  await page.getByRole('search').getByRole('textbox').fill(EMAIL);
  await page.keyboard.press('Enter');
  await page.getByRole('table').first().waitFor();
  await takePicture(page, 'support');
  await page.getByRole('link', { name: /^Release requests/ }).click();
  await page
    .getByRole('button', { name: /^Decline/ })
    .first()
    .click();
  await page.getByRole('dialog').getByRole('textbox').fill('This machine was released last week already.');
  await takePicture(page, 'support-decline');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await page.getByRole('link', { name: 'Audit trail' }).click();
  // The view before also has a table.
  const audit = page.getByRole('main').filter({ has: page.getByRole('heading', { name: 'Audit trail' }) });
  await audit.getByRole('table').waitFor();
  await takePicture(page, 'support-audit');
  await page.getByRole('link', { name: 'Fleet' }).click();
  await page.locator('canvas').first().waitFor();
  await takePicture(page, 'fleet');
}

/** The HTML part of the latest mail in the outbox. */
async function takeMailPicture(page, outbox) {
  const times = readdirSync(outbox).map((name) => [statSync(join(outbox, name)).mtimeMs, name]);
  const [[, name]] = times.toSorted(([a], [b]) => b - a);
  const part = readFileSync(join(outbox, name), 'latin1')
    .split(/^--.+$/m)
    .find((each) => /^Content-Type: text\/html/im.test(each));
  const [head, ...lines] = part.trimStart().split(/\r?\n\r?\n/);
  const encoding = /base64/i.test(head) ? 'base64' : 'quoted-printable';
  await page.goto(`data:text/html;base64,${decodeBody(lines.join('\n\n'), encoding).toString('base64')}`);
  await page.setViewportSize({ width: 640, height: 520 });
  await takePicture(page, 'mail');
}

function decodeBody(body, encoding) {
  if (encoding === 'base64') return Buffer.from(body, 'base64');
  const toCharacter = (_code, hex) => String.fromCharCode(parseInt(hex, 16));
  return Buffer.from(body.replaceAll(/=\r?\n/g, '').replaceAll(/=([0-9A-F]{2})/g, toCharacter), 'latin1');
}

async function takePicture(page, name) {
  await page.evaluate(() => globalThis.scrollTo(0, 0));
  await page.screenshot({ path: join(OUTPUT_DIR, `${name}.png`) });
  console.log(`docs/pages/${name}.png`);
}
