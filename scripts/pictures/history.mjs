// The history of the sample service: licenses of some months, and the requests of yesterday.
import { codeAfter } from './mails.mjs';
import { dayFromToday } from './sample-vendor.mjs';

/**
 * Makes the staff and the licenses of the months before the pictures, the oldest first.
 * @returns a holder whose license was changed several times, and one whose license has expired
 */
export async function makeHistory(vendor) {
  vendor.mooring('staff', 'add', 'grace@tidewater.example', '--role', 'support');
  await vendor.passDays(4.3);
  const bea = await issueChangedLicense(vendor);
  vendor.mooring('staff', 'add', 'linus@tidewater.example', '--role', 'support');
  await issueSeveral(vendor, 'coco@example.com');
  const edith = await vendor.issue('edith@example.com', 2, ['Editing suite'], '3.0.0');
  vendor.changeLicense(edith, 'Trial', '--on-expiry', 'stop', '--expires', dayFromToday(-12));
  await vendor.passDays(2.7);
  await recordPurchases(vendor);
  await vendor.issue('ida@example.com', 1, ['Ida’s Mac'], '3.1.0');
  return { bea, edith };
}

/** Makes what waits for support: requests for releases and erasures, and a mail that was not delivered. */
export async function makeRequests(camera, vendor, ada, bea) {
  vendor.mooring('staff', 'token', 'linus@tidewater.example');
  await askForReleases(camera, vendor, ada);
  await vendor.passDays(0.9);
  vendor.mooring('erasure', 'request', 'ida@example.com', '--reason', 'The holder asked by mail');
  await vendor.addUndeliveredMail(bea);
}

async function issueSeveral(vendor, email) {
  const first = await vendor.issue(email, 3, ['Studio', 'Atelier'], '3.0.0');
  const second = await vendor.issue(email, 1, ['Travel Mac'], '3.0.0');
  const third = await vendor.issue(email, 2);
  vendor.changeLicense(first, 'Bought another year', '--expires', dayFromToday(200));
  vendor.changeLicense(second, 'Ordered by letter', '--on-expiry', 'stop', '--expires', dayFromToday(20));
  await vendor.passDays(3.4);
  vendor.changeLicense(third, 'Dispute with the bank', '--status', 'suspended');
}

/** Records a purchase, and another one that is refunded. */
async function recordPurchases(vendor) {
  const record = (transaction, email, status) => {
    const options = ['--transaction', transaction, '--email', email, '--status', status];
    vendor.mooring('purchase', 'record', ...options);
  };
  record('pi_3Paid', 'gus@example.com', 'paid');
  record('pi_3Refunded', 'fritz@example.com', 'paid');
  await vendor.passDays(5.2);
  record('pi_3Refunded', 'fritz@example.com', 'refunded');
  await vendor.passDays(1.4);
}

/** Issues a license and changes it over some weeks. @returns the license as it was issued, so with its first address */
async function issueChangedLicense(vendor) {
  const bea = await vendor.issue('bea@example.com', 1, ['Reception'], '2.9.1');
  vendor.changeLicense(bea, 'Bought two more on the phone', '--machines', '3');
  for (const label of ['Sales', 'Back office']) {
    await vendor.activate(bea, label, '2.9.1');
    await vendor.passDays(6.2);
  }
  vendor.changeLicense(bea, 'Married', '--email', 'bea.lovelace@example.com');
  vendor.mooring('license', 'send-key', bea.license_id);
  await vendor.passDays(1.7);
  vendor.mooring('license', 'rekey', bea.license_id, '--reason', 'Key leaked');
  await vendor.passDays(2.4);
  return bea;
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
  const { licenses } = await (await page.request.get('/portal/api/session')).json();
  const reasons = ['It is sold.', 'The disk is broken, and the machine does not start any more.'];
  for (const [i, { id }] of licenses[0].activations.entries()) {
    await post(`activations/${id}/release-request`, { reason: reasons[i] });
    await vendor.passDays(0.2);
  }
  await post('erasure', {});
}
