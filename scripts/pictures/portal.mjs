// The pictures of the license portal: licenses in several states, and the steps of a sign-in and of a release.
import { signInByKey } from '../sample-sign-in.mjs';
import { codeAfter } from './mails.mjs';

const PHONE = { width: 390, height: 844 };
const PAPER = { width: 794, height: 1123 };

/**
 * Takes the pictures.
 * @param ada the holder of the sample license, who uses it on two machines @param edith the holder of an expired license
 * @returns a holder who has asked support for a release
 */
export async function takePortalPictures(camera, vendor, { ada, edith }) {
  camera.beginSection('License portal');
  await vendor.activate(ada, 'Studio Mac', '3.1.0');
  await vendor.passDays(12.6);
  await vendor.activate(ada, 'Ada’s MacBook Air');
  await vendor.passDays(9.2);
  await takeSignIn(camera, vendor, ada);
  await takeGermanPhone(camera, ada);
  const hedy = await takeFullLicense(camera, vendor);
  await takeStates(camera, vendor, edith);
  await takeOffline(camera, ada);
  await takePrinted(camera, ada);
  return hedy;
}

async function takeSignIn(camera, vendor, { email }) {
  const page = await camera.openPage();
  await page.goto('/portal/');
  await page.getByLabel('License key').waitFor();
  await camera.take(page, 'portal-sign-in', 'A holder signs in with a license key, or with a mailed code.');
  const code = await requestCode(page, vendor, email);
  await camera.take(page, 'portal-code', 'The page asks for the mailed code.');
  await page.getByLabel('Code', { exact: true }).pressSequentially(code);
  await page.getByRole('table').first().waitFor();
  await camera.take(page, 'portal', 'The license is in use on two machines, which are listed by name.');
}

async function takeGermanPhone(camera, ada) {
  const page = await camera.openPage({ locale: 'de-DE', colorScheme: 'dark', viewport: PHONE });
  await signInByKey(page, ada);
  await camera.take(page, 'portal-german', 'The same license on a phone, in German and in dark mode.');
}

/** Takes the steps from the refusal of a new machine to a free place, and then a request to support, because no release is left. */
async function takeFullLicense(camera, vendor) {
  const hedy = await vendor.issue('hedy@example.com', 1, ['Old iMac']);
  await vendor.passDays(5.1);
  const { release_url } = await vendor.activate(hedy, 'New iMac');
  const page = await camera.openPage();
  await page.goto(release_url);
  await page.getByRole('button', { name: 'Mail me a code' }).waitFor();
  const lead = 'The application has opened the page, because all machines of the license are in use.';
  await camera.take(page, 'portal-full', lead);
  const code = await codeAfter(vendor.outbox, hedy.email, () =>
    page.getByRole('button', { name: 'Mail me a code' }).click(),
  );
  await page.getByLabel('Code', { exact: true }).pressSequentially(code);
  await page.getByRole('button', { name: 'Release Old iMac' }).click();
  await page.getByRole('dialog').waitFor();
  await camera.takeVisible(page, 'portal-release', 'The holder releases a machine without support.');
  await page.getByRole('button', { name: 'Release it' }).click();
  await page.getByText('A place is free: go back').waitFor();
  await camera.take(page, 'portal-free', 'A place is free, and the application activates by itself.');
  await vendor.activate(hedy, 'New iMac');
  await vendor.passDays(2.6);
  const later = await camera.openPage();
  await signInByKey(later, hedy);
  await later.getByRole('row', { name: 'New iMac' }).getByRole('button').click();
  await later.getByRole('dialog').getByRole('textbox').fill('The new one was stolen.');
  await camera.takeVisible(
    later,
    'portal-ask',
    'After the releases of a year are used up, support is asked.',
  );
  await later.getByRole('dialog').locator('button[type=submit]').click();
  await later.getByRole('dialog').waitFor({ state: 'detached' });
  return hedy;
}

async function takeStates(camera, vendor, edith) {
  await takeByCode(
    camera,
    vendor,
    'coco@example.com',
    'portal-several',
    'Several licenses of one holder, after a sign-in by code.',
  );
  const page = await camera.openPage();
  await signInByKey(page, edith);
  await camera.take(page, 'portal-expired', 'An expired license says how it is renewed.');
  await takeByCode(
    camera,
    vendor,
    'fritz@example.com',
    'portal-refunded',
    'A refunded license says why it ended, and leads to the shop.',
  );
}

async function takeOffline(camera, ada) {
  const page = await camera.openPage();
  await signInByKey(page, ada);
  await page.context().setOffline(true);
  await page.getByText('You are offline.').first().waitFor();
  await camera.take(
    page,
    'portal-offline',
    'Without a connection the page says so, and keeps what it shows.',
  );
}

async function takePrinted(camera, ada) {
  const page = await camera.openPage({ viewport: PAPER });
  await signInByKey(page, ada);
  await page.emulateMedia({ media: 'print' });
  // A window has no margins, unlike a sheet of paper.
  await page.evaluate(() => (globalThis.document.body.style.padding = '18mm'));
  await camera.take(page, 'portal-print', 'The license on paper.');
}

async function takeByCode(camera, vendor, email, name, sentence) {
  const page = await camera.openPage();
  await page.goto('/portal/');
  const code = await requestCode(page, vendor, email);
  await page.getByLabel('Code', { exact: true }).pressSequentially(code);
  await page.getByText('Your data').first().waitFor();
  await camera.take(page, name, sentence);
}

/** Requests a code on the sign-in page, and waits for the field to enter it. @returns the code of the mail */
export async function requestCode(page, vendor, email) {
  await page.getByRole('button', { name: 'I lost my key' }).click();
  await page.getByRole('button', { name: 'Mail me a code' }).waitFor();
  await page.locator('input[name=email]').fill(email);
  return codeAfter(vendor.outbox, email, async () => {
    await page.getByRole('button', { name: 'Mail me a code' }).click();
    await page.getByLabel('Code', { exact: true }).waitFor();
  });
}
