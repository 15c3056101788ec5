// The pictures of the support page: each view, with the data of the vendor and of the holders.
import { signInStaff } from '../sample-sign-in.mjs';
import { codeAfter } from './mails.mjs';
import { takeBatchRelease, takeDialog, takeLicenseDialogs, takeOnPhone } from './support-dialogs.mjs';

const SECTION = 'Support page';

/** Takes the pictures. @param {string} link signs in an admin */
export async function takeSupportPictures(camera, vendor, ada, link) {
  await prepare(camera, vendor, ada);
  const page = await camera.openPage();
  await page.goto('/support/');
  await page.getByRole('heading', { level: 1 }).waitFor();
  await camera.take(page, SECTION, 'support-sign-in', 'Staff sign in with a passkey.');
  await signInStaff(page, link);
  await takeLicenses(camera, page);
  await takeQueues(camera, page);
  await takeFleet(camera, page);
  await takeAdmin(camera, page);
}

/** Changes licenses and requests releases and erasures, which also causes mails that `mails.mjs` shows. */
async function prepare(camera, vendor, ada) {
  const bea = await vendor.issue('bea@example.com', 1, ['Reception']);
  vendor.changeLicense(bea, 'Bought two more on the phone', '--machines', '3');
  for (const label of ['Sales', 'Back office']) await vendor.activate(bea, label);
  vendor.changeLicense(bea, 'Married', '--email', 'bea.lovelace@example.com');
  const holder = { ...bea, email: 'bea.lovelace@example.com' };
  vendor.mooring('license', 'send-key', holder.license_id);
  vendor.mooring('license', 'rekey', holder.license_id, '--reason', 'Key leaked');
  await vendor.addUndeliveredMail(bea);
  vendor.mooring(
    'purchase',
    'record',
    '--transaction',
    'pi_3Paid',
    '--email',
    'gus@example.com',
    '--status',
    'paid',
  );
  vendor.mooring('staff', 'add', 'grace@tidewater.example', '--role', 'support');
  vendor.mooring('staff', 'add', 'linus@tidewater.example', '--role', 'support');
  vendor.mooring('staff', 'token', 'linus@tidewater.example');
  await askForReleases(camera, vendor, ada);
  await vendor.issue('ida@example.com', 1, ['Ida’s Mac']);
  vendor.mooring('erasure', 'request', 'ida@example.com', '--reason', 'The holder asked by mail');
}

/** As the holder of two machines, asks for the release of both, and for the erasure of all data. */
async function askForReleases(camera, vendor, { email }) {
  const page = await camera.openPage();
  await page.goto('/portal/');
  const headers = { origin: new URL(page.url()).origin };
  const post = async (path, data) => {
    const answer = await page.request.post(`/portal/api/${path}`, { data, headers });
    if (!answer.ok()) throw new Error(`${path} was answered with ${answer.status()}.`);
  };
  const code = await codeAfter(vendor.outbox, email, () => post('session/code', { email }));
  await post('session', { email, code: code.replace(' ', '') });
  const { licenses } = await (await page.request.get('/portal/api/licenses')).json();
  const reasons = ['It is sold.', 'The disk is broken, and the machine does not start any more.'];
  for (const [i, { id }] of licenses[0].activations.entries())
    await post(`activations/${id}/release-request`, { reason: reasons[i] });
  await post('erasure', {});
}

async function takeLicenses(camera, page) {
  const search = async (text) => {
    await page.getByRole('link', { name: /^Find/ }).click();
    await page.getByRole('search').getByRole('textbox').fill(text);
    await page.keyboard.press('Enter');
  };
  await search('unknown@example.com');
  await page.getByText('No license has this e-mail.').first().waitFor();
  await camera.take(
    page,
    SECTION,
    'support-search',
    'One field finds a license by its key, address, purchase or machine.',
  );
  const shoot = shooter(camera, page);
  await takeDialog(shoot, page, 'Issue a license', 'support-issue', 'A license is issued by hand.');
  await search('bea.lovelace@example.com');
  await page.getByRole('table').first().waitFor();
  await camera.take(page, SECTION, 'support', 'A license with its holder, its machines and its history.');
  await takeLicenseDialogs(shoot, page);
  await search('coco@example.com');
  await page.getByRole('table').first().waitFor();
  await camera.take(page, SECTION, 'support-holder', 'All licenses of a holder.');
}

async function takeQueues(camera, page) {
  await openView(page, 'Release requests');
  await page.getByRole('table').first().waitFor();
  await camera.take(page, SECTION, 'support-requests', 'The queue of the release requests.');
  const shoot = shooter(camera, page);
  await takeOnPhone(shoot, page, 'support-phone', 'The same queue on a telephone.');
  await takeBatchRelease(shoot, page);
  await page.getByRole('button', { name: 'Release Studio Mac, as asked' }).click();
  await takeWindow(
    camera,
    page,
    'support-release',
    'A release shows the mail to the holder, with the reason.',
  );
  await page.getByRole('dialog').locator('button[type=submit]').click();
  await page
    .getByText(/^Releases in/)
    .first()
    .waitFor();
  await shoot('support-undo', 'For some seconds, a release can be undone.', {
    isWhole: false,
    hasToasts: true,
  });
  await page
    .getByRole('button', { name: /^Decline/ })
    .last()
    .click();
  await page.getByRole('dialog').getByRole('textbox').fill('This machine was released last week already.');
  await takeWindow(
    camera,
    page,
    'support-decline',
    'A request is declined with a reason, which the holder reads.',
  );
  await page.getByRole('dialog').locator('button[type=submit]').click();
  await page.getByText('Released Studio Mac.').first().waitFor();
  await openView(page, 'Erasure requests');
  await page.getByRole('table').first().waitFor();
  await camera.take(
    page,
    SECTION,
    'support-erasures',
    'The queue of the erasure requests, the most urgent first.',
  );
}

async function takeFleet(camera, page) {
  await openView(page, 'Fleet');
  await page.locator('canvas').first().waitFor();
  await camera.take(
    page,
    SECTION,
    'fleet',
    'The fleet: how versions were taken up, with the day of each publication.',
  );
  const crashes = page.getByRole('heading', { name: /^Crash/ }).first();
  await crashes.evaluate((heading) => heading.scrollIntoView());
  await takeWindow(camera, page, 'fleet-crashes', 'Crash groups, which staff mark as resolved or muted.');
  await takeDialog(
    shooter(camera, page),
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
  await camera.take(page, SECTION, 'support-staff', 'Staff, their roles, and the tokens of their scripts.');
  await openView(page, 'Service');
  await page.getByRole('table').first().waitFor();
  await camera.take(
    page,
    SECTION,
    'support-service',
    'The state of the service, with a warning about a mail.',
  );
  await openView(page, 'Audit trail');
  await page.getByRole('main').getByRole('table').waitFor();
  await camera.take(
    page,
    SECTION,
    'support-audit',
    'The audit trail: who did what and why, with the values before.',
  );
  await page.goto('/support/#account');
  await page.getByRole('table').first().waitFor();
  await camera.take(page, SECTION, 'support-account', 'The passkeys of a staff member.');
}

/** Opens a view by its tab. The heading shows that it is no longer the view before. */
async function openView(page, name) {
  await page.getByRole('link', { name: new RegExp(`^${name}`) }).click();
  await page.getByRole('heading', { level: 1, name: new RegExp(`^${name}`) }).waitFor();
}

const shooter = (camera, page) => (name, sentence, options) =>
  camera.take(page, SECTION, name, sentence, options);

const takeWindow = (camera, page, name, sentence) =>
  camera.take(page, SECTION, name, sentence, { isWhole: false });
