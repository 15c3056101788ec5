// The pictures of the license portal in other languages, widths and colours, and of what can go wrong.
import { signInByKey } from '../sample-sign-in.mjs';
import { requestCode } from './portal.mjs';
import { dayFromToday } from './sample-vendor.mjs';

const NARROW = { width: 320, height: 640 };

/** For each picture its name, the options of the window in which the page is shown, and what the picture shows. */
const WINDOWS = [
  ['portal-320', { viewport: NARROW }, 'The page 320 pixels wide.'],
  ['portal-french', { locale: 'fr-FR' }, 'The page in French.'],
  ['portal-dark', { colorScheme: 'dark' }, 'The page in dark mode.'],
  ['portal-forced-colours', { forcedColors: 'active' }, 'The page in forced colours.'],
];

/** Issues licenses for the pictures, and takes them. @param hedy a license with a request for a release that was declined */
export async function takePortalVariants(camera, vendor, hedy) {
  camera.beginSection('License portal: variants');
  const nora = await vendor.issue('nora@example.com', 3, ['Studio Mac', 'Travel Mac']);
  for (const [name, options, sentence] of WINDOWS) {
    const page = await camera.openPage(options);
    await signInByKey(page, nora);
    await camera.take(page, name, sentence);
  }
  await takeMachines(camera, vendor, nora, hedy);
  await takeErrors(camera, nora);
  await takeLicenseStates(camera, vendor);
  await takeDeletion(camera, vendor, nora);
}

async function takeMachines(camera, vendor, nora, hedy) {
  const opened = await camera.openPage();
  await signInByKey(opened, nora);
  const { licenses } = await (await opened.request.get('/portal/api/session')).json();
  await opened.goto(`/portal/#activation=${licenses[0].activations.at(-1).id}`);
  await opened.getByText('This machine', { exact: true }).waitFor();
  await camera.take(
    opened,
    'portal-this-machine',
    'The application has opened the page, which marks its machine and shows it first.',
  );

  const declined = await camera.openPage();
  await signInByKey(declined, hedy);
  await camera.take(
    declined,
    'portal-declined',
    'Support has declined a request, with a reason, and can be asked again.',
  );

  const labels = ['Studio', 'Edit', 'Render'].flatMap((use) =>
    [1, 2, 3, 4].map((number) => `${use} ${number}`),
  );
  const otto = await vendor.issue('otto@example.com', 20, labels);
  const many = await camera.openPage();
  await signInByKey(many, otto);
  await many.getByRole('searchbox').fill('render');
  await camera.take(many, 'portal-filter', 'More than ten machines can be filtered.');
}

async function takeErrors(camera, { email, license_key }) {
  const page = await camera.openPage();
  await page.goto('/portal/');
  await page.getByRole('button', { name: 'Show my machines' }).click();
  await page.getByText('Enter your license key.').waitFor();
  await camera.take(page, 'portal-field-error', 'A form says what is missing, beside each field.');
  const last = license_key.endsWith('2') ? '3' : '2';
  await page.locator('input[name=email]').fill(email);
  await page.getByLabel('License key').fill(license_key.slice(0, -1) + last);
  await page.getByRole('button', { name: 'Show my machines' }).click();
  await page.getByText('One character looks mistyped').waitFor();
  await camera.take(page, 'portal-mistyped-key', 'A mistyped key is recognized.');
  const opened = await camera.openPage();
  await opened.goto('/portal/#release=expired');
  await opened.getByRole('button', { name: 'Mail me a code' }).click();
  await opened.getByText('This link was good for 10 minutes and one sign-in.').waitFor();
  await camera.take(opened, 'portal-expired-link', 'A link of the application has expired.');
}

async function takeLicenseStates(camera, vendor) {
  const states = [
    ['suspended', ['--status', 'suspended'], 'A suspended license keeps its places.'],
    [
      'updates-ended',
      ['--expires', dayFromToday(-30)],
      'Updates have ended, and the application goes on working.',
    ],
    ['over-limit', ['--machines', '1'], 'More machines are in use than are now allowed.'],
  ];
  for (const [name, changes, sentence] of states) {
    const license = await vendor.issue(`${name}@example.com`, 2, ['Studio Mac', 'Travel Mac']);
    vendor.changeLicense(license, 'For a picture', ...changes);
    const page = await camera.openPage();
    await signInByKey(page, license);
    await camera.take(page, `portal-${name}`, sentence);
  }
}

async function takeDeletion(camera, vendor, { email }) {
  const page = await camera.openPage();
  await page.goto('/portal/');
  const code = await requestCode(page, vendor, email);
  await page.getByLabel('Code', { exact: true }).pressSequentially(code);
  await page.getByRole('button', { name: 'Delete my data …' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  await camera.takeVisible(page, 'portal-deletion', 'A deletion says what it ends.');
  await dialog.getByRole('button', { name: 'Delete my data' }).click();
  await dialog.waitFor({ state: 'detached' });
  await camera.take(page, 'portal-deletion-pending', 'For three days a deletion can be cancelled.');
}
