// The pictures of the support page: each view, with the data of the vendor and of the holders.
import { signInStaff } from '../sample-sign-in.mjs';
import { makeRequests } from './history.mjs';
import {
  takeBatchRelease,
  takeConflict,
  takeDialog,
  takeLicenseDialogs,
  takeOnPhone,
} from './support-dialogs.mjs';

/**
 * Takes the pictures.
 * @param ada asks for releases @param bea the holder of the license that is changed
 * @param {string} link signs in an admin
 */
export async function takeSupportPictures(camera, vendor, { ada, bea }, link) {
  camera.beginSection('Support page');
  await makeRequests(camera, vendor, ada, bea);
  const page = await camera.openPage();
  await page.goto('/support/');
  await page.getByRole('heading', { level: 1 }).waitFor();
  await camera.take(page, 'support-sign-in', 'Staff sign in with a passkey.');
  await signInStaff(page, link, () =>
    camera.take(page, 'support-passkey', 'The first sign-in is by a link, and then a passkey is made.'),
  );
  await takeLicenses(camera, page, () => vendor.changeLicense(bea, 'Closed the shop', '--machines', '2'));
  await takeQueues(camera, page);
  await takeFleet(camera, page);
  await takeAdmin(camera, page);
}

/** @param changeMeanwhile changes the license that the page shows, as another person does */
async function takeLicenses(camera, page, changeMeanwhile) {
  const search = async (text) => {
    await page.getByRole('link', { name: /^Find/ }).click();
    await page.getByRole('search').getByRole('textbox').fill(text);
    await page.keyboard.press('Enter');
  };
  await search('unknown@example.com');
  await page.getByText('No license has this e-mail.').first().waitFor();
  await camera.take(
    page,
    'support-search',
    'One field finds a license by its key, address, purchase or machine.',
  );
  await takeDialog(camera, page, 'Issue a license', 'support-issue', 'A license is issued by hand.');
  await search('bea.lovelace@example.com');
  await page.getByRole('table').first().waitFor();
  await camera.take(page, 'support', 'A license with its holder, its machines and its history.');
  await takeLicenseDialogs(camera, page);
  await takeConflict(camera, page, changeMeanwhile);
  await search('coco@example.com');
  await page.getByRole('table').first().waitFor();
  await camera.take(page, 'support-holder', 'All licenses of a holder.');
}

async function takeQueues(camera, page) {
  await openView(page, 'Release requests');
  await page.getByRole('table').first().waitFor();
  await camera.take(page, 'support-requests', 'The queue of the release requests.');
  await takeOnPhone(camera, page, 'support-phone', 'The same queue on a telephone.');
  await takeBatchRelease(camera, page);
  await page.getByRole('button', { name: 'Release Studio Mac, as asked' }).click();
  await camera.takeVisible(
    page,
    'support-release',
    'A release shows the mail to the holder, with the reason.',
  );
  await page.getByRole('dialog').locator('button[type=submit]').click();
  await page
    .getByText(/^Releases in/)
    .first()
    .waitFor();
  await camera.takeVisible(page, 'support-undo', 'For some seconds, a release can be undone.', {
    hasToast: true,
  });
  await declineLast(page, 'It was active again yesterday: is it the one that was sold?', () =>
    camera.takeVisible(
      page,
      'support-decline',
      'A request is declined with a reason, which the holder reads.',
    ),
  );
  await page.getByText('Released Studio Mac.').first().waitFor();
  await declineLast(
    page,
    'Support cannot tell that it was stolen. Send us the report of the police, please.',
  );
  await page.getByText(/^No requests are waiting/).waitFor();
  await camera.take(page, 'support-requests-empty', 'When all requests are decided, the queue is empty.');
  await openView(page, 'Erasure requests');
  await page.getByRole('table').first().waitFor();
  await camera.take(page, 'support-erasures', 'The queue of the erasure requests, the most urgent first.');
}

async function takeFleet(camera, page) {
  await openView(page, 'Fleet');
  await page.locator('canvas').first().waitFor();
  await camera.take(
    page,
    'fleet',
    'The fleet: how versions were taken up, with the day of each publication.',
  );
  const crashes = page.getByRole('heading', { name: /^Crash/ }).first();
  await crashes.evaluate((heading) => heading.scrollIntoView());
  await camera.takeVisible(page, 'fleet-crashes', 'Crash groups, which staff mark as resolved or muted.');
  await takeDialog(
    camera,
    page,
    /^Resolve … /,
    'fleet-crash-state',
    'A crash group is resolved in a version, and opens again if it crashes there.',
  );
}

async function takeAdmin(camera, page) {
  await openView(page, 'Staff');
  await page.getByRole('table').first().waitFor();
  await page.getByRole('button', { name: 'Mail a link to grace@tidewater.example' }).click();
  await page.getByText('A link is on its way').first().waitFor();
  await camera.take(page, 'support-staff', 'Staff, their roles, and the tokens of their scripts.');
  await openView(page, 'Service');
  await page.getByRole('table').first().waitFor();
  await camera.take(page, 'support-service', 'The state of the service, with a warning about a mail.');
  await openView(page, 'Audit trail');
  await page.getByRole('main').getByRole('table').waitFor();
  await camera.take(page, 'support-audit', 'The audit trail: who did what and why, with the values before.');
  await page.goto('/support/#account');
  await page.getByRole('table').first().waitFor();
  await camera.take(page, 'support-account', 'The passkeys of a staff member.');
}

/** Declines the last request of the queue. @param beforeSubmit called while the dialog is open */
async function declineLast(page, reason, beforeSubmit = async () => {}) {
  await page
    .getByRole('button', { name: /^Decline to release/ })
    .last()
    .click();
  await page.getByRole('dialog').getByRole('textbox').fill(reason);
  await beforeSubmit();
  await page.getByRole('dialog').locator('button[type=submit]').click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

/** Opens a view by its tab. The heading shows that it is no longer the view before. */
async function openView(page, name) {
  await page.getByRole('link', { name: new RegExp(`^${name}`) }).click();
  await page.getByRole('heading', { level: 1, name: new RegExp(`^${name}`) }).waitFor();
}
