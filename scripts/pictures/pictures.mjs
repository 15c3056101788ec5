// npm run pictures: takes the pictures of the pages and of the mails, from a temporary service with invented data.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findChromium } from '../chromium.mjs';
import { command, ensureBuilt, ensureInstalled, ensureWebBuilt } from '../prepare.mjs';
import { withSampleService } from '../sample-service.mjs';
import { Camera } from './camera.mjs';
import { fillFleet } from './fleet.mjs';
import { makeHistory } from './history.mjs';
import { takeMailPictures } from './mails.mjs';
import { takePortalPictures } from './portal.mjs';
import { takePortalVariants } from './portal-variants.mjs';
import { brandSettings, SampleVendor } from './sample-vendor.mjs';
import { takeSupportPictures } from './support.mjs';

/** When the versions were published, in weeks before now: that of the sample data first, then three of `fillFleet`. */
const PUBLISHED_WEEKS_AGO = { '1.0.0': 20, '3.0.0': 11, '3.1.0': 8, '3.2.0': 5 };

await command(async () => {
  await ensureInstalled();
  await ensureBuilt();
  await ensureWebBuilt();
  const folder = mkdtempSync(join(tmpdir(), 'mooring-pictures-'));
  try {
    const work = (service) => takePictures(service, folder);
    await withSampleService(join(folder, 'data'), work, brandSettings());
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

async function takePictures(service, folder) {
  const { chromium } = await import('playwright-core');
  const vendor = new SampleVendor(service);
  await vendor.withDatabase(fillFleet);
  await vendor.publishVersions(folder, PUBLISHED_WEEKS_AGO);
  const options = withSystemFonts(await findChromium(), folder);
  // Date fields have the format of the language of the browser, and not of the page.
  const browser = await chromium.launch({ ...options, args: [...options.args, '--lang=en-GB'] });
  try {
    const camera = new Camera(browser, service.origin);
    const ada = { license_key: /MOOR_\S+/.exec(service.welcome)[0], email: 'ada@example.com' };
    const { bea, edith } = await makeHistory(vendor);
    const hedy = await takePortalPictures(camera, vendor, { ada, edith });
    await takeSupportPictures(camera, vendor, { ada, bea }, /http\S+#link=\S+/.exec(service.welcome)[0]);
    await takePortalVariants(camera, vendor, hedy);
    await takePrivacyPicture(camera);
    await takeMailPictures(camera, vendor.outbox, service.origin);
    camera.writeIndex();
  } finally {
    await browser.close();
  }
}

/** Adds the fonts of the system to those of the Chromium from npm, which lack the arrow (→) between an old and a new value. */
function withSystemFonts({ env, ...options }, folder) {
  if (!env) return options;
  const file = join(folder, 'fonts.conf');
  const prefer = ['sans-serif', 'system-ui'].map(
    (family) => `<alias><family>${family}</family><prefer><family>Open Sans</family></prefer></alias>`,
  );
  const parts = [`<include>${env.FONTCONFIG_FILE}</include>`, '<dir>/usr/share/fonts</dir>', ...prefer];
  writeFileSync(file, `<fontconfig>${parts.join('')}</fontconfig>\n`);
  return { ...options, env: { ...env, FONTCONFIG_FILE: file } };
}

async function takePrivacyPicture(camera) {
  camera.beginSection('Privacy page');
  const page = await camera.openPage();
  await page.goto('/privacy/');
  await page.getByRole('table').first().waitFor();
  const sentence =
    'Everyone reads what is stored, why, and for how long: in plain words, then the tables themselves.';
  await camera.take(page, 'privacy', sentence);
}
