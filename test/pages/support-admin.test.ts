import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Service } from '../support/harness.js';
import { publish } from '../manifest/publish.js';
import { Pages } from './browser.js';
import { startForBrowser } from './service.js';
import { button, dialog, linkFor, openAs, row, submitReason, title } from './support-browser.js';
import { expectFocus, expectAnnounced } from './steps.js';

let service: Service;
let origin: string;
beforeAll(async () => void ({ service, origin } = await startForBrowser()));
afterAll(() => service.close());
const browser = Pages.forThisFile();

test('an admin adds a staff member, mails a link, changes the role and removes the staff member', async () => {
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'admin', '#staff');
  await expectFocus(title(page, 'Staff'));
  await browser.expectAccessibleLayout(page);
  await button(page, 'Add a person …').click();
  await browser.expectAccessibleLayout(page);
  await button(dialog(page), 'Add').click();
  await dialog(page).getByText('This is no e-mail address.').waitFor();
  await dialog(page).getByLabel('E-mail').fill('New@Example.com');
  await button(dialog(page), 'Add').click();
  const person = row(page, 'new@example.com');
  await expectFocus(person);
  await expectAnnounced(page, 'Added new@example.com.');

  await button(page, 'Mail a link to new@example.com').click();
  await page
    .getByText(/^A link is on its way to new@example.com/)
    .first()
    .waitFor();
  const links = await service.sql<{ id: string }>('select id from staff_link where mailed');
  expect(links.length).toBeLessThanOrEqual(1);

  await button(page, 'Make admin: new@example.com').click();
  await submitReason(page, 'Takes over', 'Make admin');
  await person.getByRole('cell', { name: 'Admin', exact: true }).waitFor();
  await button(page, 'Remove new@example.com').click();
  await dialog(page)
    .getByText(/^Kept for 24 months in the audit trail/)
    .waitFor();
  await browser.expectAccessibleLayout(page);
  await submitReason(page, 'Left', 'Remove');
  await person.waitFor({ state: 'detached' });
});

test('the last admin keeps the role', async () => {
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'admin', '#staff');
  await button(page, 'Make support: admin@example.com').click();
  await dialog(page).getByLabel('Why?').fill('Enough of it');
  await button(dialog(page), 'Make support').click();
  await dialog(page)
    .getByText(/^This is the last admin/)
    .waitFor();
  await browser.expectAccessibleLayout(page);
});

test('a script’s token is revoked with a reason', async () => {
  const token = await service.staffToken('support', 'script@example.com');
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'admin', '#staff');
  await button(page, 'Revoke the token of script@example.com made on 20 November').click();
  await browser.expectAccessibleLayout(page);
  await submitReason(page, 'The laptop is lost', 'Revoke');
  await page.getByText(/^No script has a token/).waitFor();
  const { status } = await service.call('GET', '/support/api/audit', undefined, {
    authorization: `Bearer ${token}`,
  });
  expect(status).toBe(401);
});

test('the page follows a change of its URL during its first render', async () => {
  const page = await browser.page(origin);
  // This runs before the first paint, and so before any effect of the page.
  await page.addInitScript({
    content: `new MutationObserver((_changes, observer) => {
      if (!document.querySelector('nav')) return;
      observer.disconnect();
      location.hash = 'service';
    }).observe(document, { childList: true, subtree: true });`,
  });
  await openAs(page, origin, service, 'support', '#audit');
  await page.getByText('Nothing is published yet.').waitFor();
});

test('the service view shows what is published, what is live and for how long, and the last retention runs', async () => {
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'support', '#service');
  await page.getByText('Nothing is published yet.').waitFor();
  await browser.expectAccessibleLayout(page);
  await publish(service, '3.2.0');
  await publish(service, '3.3.0', '2026-06-01T00:00:00Z');
  await page.reload();
  await button(page, 'Later').click();
  await page.getByText('Version 3.3.0 is live (manifest 2).').waitFor();
  await row(page, '2').getByText('1 June 2026').waitFor();
  await page
    .getByRole('table', { name: /^Last retention runs/ })
    .getByText('Done')
    .first()
    .waitFor();
  await browser.expectAccessibleLayout(page);
});

test('the service view shows warnings, mails that were not delivered and why, and jobs that wait', async () => {
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'support', '#service');
  await page.getByText('The service has no warnings.').waitFor();
  await page.getByText('No job is waiting.').waitFor();
  const about = '0198f000-0000-7000-8000-000000000001';
  await service.sql(
    `select graphile_worker.add_job('mail_license_key', '{}', run_at := now() + interval '1 day', job_key := $1)`,
    [`license_key ${about}`],
  );
  await service.sql(
    `update graphile_worker._private_jobs set attempts = 3, last_error = 'the mail server <b>refused</b> it' where key = $1`,
    [`license_key ${about}`],
  );
  await page.evaluate(`dispatchEvent(new Event('focus'))`);
  await page.getByText(/^Undelivered mails: 1, because the mail server <b>refused/).waitFor();
  const mail = page.getByRole('table', { name: '1 mail was not delivered' });
  await mail
    .getByRole('row', { name: /^License key the mail server/ })
    .getByText(about)
    .waitFor();
  await page.getByRole('table', { name: 'Jobs that are not done' }).getByText('mail_license_key').waitFor();
  await browser.expectAccessibleLayout(page);
  await service.sql('delete from graphile_worker._private_jobs where key = $1', [`license_key ${about}`]);
});

test('the audit trail shows who did what and why, and can be filtered', async () => {
  const license = await service.issue({ email: 'audited@example.com' });
  await service.sql(
    "insert into audit_event (id, actor, action, reason, change, at) values (gen_random_uuid(), 'cli', 'staff.role', $1, '{}', now())",
    ['<img src=x onerror=alert(1)> '.repeat(10)],
  );
  await service.setLicense(license.license_id, { machines_allowed: 3 });
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'support', '#audit');
  await title(page, 'Audit trail').waitFor();
  // An entry about a license shows the old and the new value, and links the license. One about a staff member shows the address.
  await row(page, /^Changed the license.*machines: \d → 3/)
    .getByRole('link', { name: `License ending in ${license.license_key.slice(-2)}` })
    .waitFor();
  await row(page, /^Added a person/)
    .getByRole('cell', { name: 'support@example.com' })
    .first()
    .waitFor();
  await row(page, /^Gave a person another role/)
    .first()
    .waitFor();
  await browser.expectAccessibleLayout(page);
  await page.getByLabel('Show only').selectOption('license.issue');
  await page.getByRole('table', { name: '1 entry, newest first' }).waitFor();
  await page.getByRole('link', { name: `License ending in ${license.license_key.slice(-2)}` }).click();
  await title(page, /^License …/).waitFor();
  expect(page.url()).toBe(`${origin}/support/#license/${license.license_id}`);
});

test('a staff member who is no longer an admin reads that the role does not allow the action', async () => {
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'admin', '#staff');
  await row(page, /^admin@example.com/).waitFor();
  // Another admin, so that the service still has one.
  await linkFor(service, 'admin', 'second@example.com');
  await service.sql("update staff set role = 'support' where email = 'admin@example.com'");
  await button(page, 'Add a person …').click();
  await dialog(page).getByLabel('E-mail').fill('x@example.com');
  await button(dialog(page), 'Add').click();
  await dialog(page)
    .getByText(/^Your role does not allow this/)
    .waitFor();
});

test('an admin who gives up the role sees the page of the other role', async () => {
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'admin', '#staff');
  // Another admin, because the last admin cannot give up the role.
  await linkFor(service, 'admin', 'stays@example.com');
  await button(page, 'Make support: admin@example.com').click();
  await submitReason(page, 'Goes on leave', 'Make support');
  await title(page, /^Find a license/).waitFor();
  await page.getByText(/^Signed in as admin@example.com. Support:/).waitFor();
  await page.getByRole('link', { name: 'Staff', exact: true }).waitFor({ state: 'detached' });
});
