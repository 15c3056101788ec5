// npm run pictures: takes the README's pictures of the pages, from a temporary service with invented data.
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { findChromium } from './chromium.mjs';
import { fillFleet } from './pictures-fleet.mjs';
import { command, ensureBuilt, ensureInstalled, ensureWebBuilt, root } from './prepare.mjs';
import { withSampleService } from './sample-service.mjs';

const OUTPUT_DIR = join(root, 'docs/pages');
const SIZE = { width: 1120, height: 760 };
const EMAIL = 'ada@example.com';

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
  const [license_key] = /MOOR_\S+/.exec(welcome);
  const [link] = /http\S+#link=\S+/.exec(welcome);
  await fillFleet(dataDir);
  const browser = await chromium.launch(await findChromium());
  try {
    await takePortalPicture(await openPage(browser, origin), { license_key, email: EMAIL });
    const staff = await openPage(browser, origin);
    await takeSupportPictures(staff, link);
    const page = await openPage(browser, origin);
    await page.goto('/privacy/');
    await page.getByRole('table').first().waitFor();
    await takePicture(page, 'privacy');
  } finally {
    await browser.close();
  }
}

async function openPage(browser, baseURL) {
  const context = await browser.newContext({
    baseURL,
    locale: 'en-GB',
    viewport: SIZE,
    reducedMotion: 'reduce',
  });
  return context.newPage();
}

async function takePortalPicture(page, holder) {
  for (const name of ['Studio Mac', 'Ada’s MacBook Air']) {
    const machine_id = createHash('sha256').update(name).digest('hex');
    const data = { ...holder, machine_id, hostname_hint: name, app_version: '3.2.0' };
    await page.request.post('/v1/activate', { data });
  }
  await page.goto('/portal/');
  await page.getByLabel('E-mail').first().fill(holder.email);
  await page.getByLabel('License key').fill(holder.license_key);
  await page.getByRole('button', { name: 'Show my machines' }).click();
  await page.getByRole('table').first().waitFor();
  await takePicture(page, 'portal');
}

async function takeSupportPictures(page, link) {
  await page.goto(link);
  await page.getByRole('button', { name: 'Sign in with this link' }).click();
  await page.getByRole('button', { name: 'Later' }).click();
  await page.getByRole('search').getByRole('textbox').fill(EMAIL);
  await page.keyboard.press('Enter');
  await page.getByRole('table').first().waitFor();
  await takePicture(page, 'support');
  await page.getByRole('link', { name: 'Fleet' }).click();
  await page.locator('canvas').first().waitFor();
  await takePicture(page, 'fleet');
}

async function takePicture(page, name) {
  await page.evaluate(() => globalThis.scrollTo(0, 0));
  await page.screenshot({ path: join(OUTPUT_DIR, `${name}.png`) });
  console.log(`docs/pages/${name}.png`);
}
