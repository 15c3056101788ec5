import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '../erasure/harness.js';
import type { Service } from '../support/harness.js';
import { Pages } from './browser.js';
import { startForBrowser } from './service.js';
import { askForRelease, button, dialog, fact, find, openAs, row, sayWhy, title } from './support-browser.js';
import { ACT } from '../support-api/harness.js';
import { ReleaseService } from '../../src/releases/release.service.js';
import { bind, expectFocus, announced, toasted } from './steps.js';

let service: Service;
let origin: string;
beforeAll(async () => void ({ service, origin } = await startForBrowser()));
afterAll(() => service.close());
const browser = Pages.forThisFile();

const license = (email: string, machines_allowed = 2) => service.issue({ email, machines_allowed });

test('finds a license by each kind of text, none of which is in the URL', async () => {
  const sold = await license('four@example.com');
  const activation = await bind(service, sold, 'Four');
  const purchase = '0198f000-0000-7000-8000-000000000001';
  await service.sql(
    `insert into purchase (id, transaction_id, email, state, recorded_on)
     values ($1, 'txn_four', 'four@example.com', 'paid', '2026-11-01')`,
    [purchase],
  );
  await service.sql('update license set purchase_id = $1 where id = $2', [purchase, sold.license_id]);
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'support');
  for (const [text, kind] of [
    [' Four@Example.com ', 'e-mail'],
    [sold.license_key.toLowerCase(), 'license key'],
    [`“${sold.license_key.slice(-19).replaceAll('-', ' – ')}”.`, 'license key'],
    [sold.license_id, 'license id'],
    ['txn_four', 'transaction id'],
    [activation, 'activation id'],
  ] as const) {
    await find(page, text);
    await expectFocus(kind === 'activation id' ? row(page, 'Four') : title(page, /^License …/));
    await announced(page, `Found one license by its ${kind}.`);
    await row(page, 'Four').waitFor();
    const id = kind === 'activation id' ? `${sold.license_id}/${activation}` : sold.license_id;
    expect(page.url()).toBe(`${origin}/support/#license/${id}`);
    await page.goBack();
    await title(page, /^Which binding/).waitFor();
    // The search text and its results are still shown, and the license is not opened again.
    await page.getByText(`1 license. Found by ${kind}.`).waitFor();
  }
});

test('reports what was searched if nothing is found, and what is wrong with an invalid text', async () => {
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'support');
  await button(page, 'Find').click();
  await page.getByText('Type what the person gave you.').waitFor();
  await expectFocus(page.getByRole('textbox'));
  await browser.expectGoodLooks(page);
  for (const [text, sentence] of [
    ['unknown@example.com', 'No license has this e-mail.'],
    ['MOORING_0000-0000-0000-0000', 'No license has this license key.'],
    ['<img src=x onerror=alert(1)>', 'No license has this transaction id.'],
    ['0198f000-0000-7000-8000-00000000dead', 'No license and no activation has this id.'],
  ] as const) {
    await find(page, text);
    await page.getByText(sentence).first().waitFor();
  }
  await find(page, 'MOORING_0000-0000-0000-0001');
  await page.getByText(/^One character looks mistyped/).waitFor();
  await browser.expectGoodLooks(page);
  await find(page, 'two@signs@example.com');
  await page.getByText(/^It must/).waitFor();
});

test('shows a searched activation first, marked and focused, in use or ended', async () => {
  const sold = await license('rows@example.com', 40);
  const first = await bind(service, sold, 'Oldest', 'machine-0');
  for (let i = 1; i < 30; i += 1) await bind(service, sold, `Newer ${i}`, `machine-${i}`);
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'support');
  await find(page, first);
  const found = page.locator('tbody > tr').first();
  await found.getByText('Oldest').waitFor();
  await found.getByText('Searched for').waitFor();
  await expectFocus(found);
  await browser.expectGoodLooks(page);

  await button(page, 'Release Oldest').click();
  await button(dialog(page), 'Sold').click();
  await button(dialog(page), 'Release').click();
  await dialog(page).waitFor({ state: 'detached' });
  await page.goto('/support/#find');
  await find(page, first);
  const ended = page.locator('details[open] tbody > tr').first();
  await ended.getByText('Searched for').waitFor();
  await expectFocus(ended);
});

test('lists the licenses of an e-mail address, with a link to each', async () => {
  await license('many@example.com', 1);
  const second = await license('many@example.com', 5);
  await service.setLicense(second.license_id, { staff_status: 'suspended' });
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'support');
  await find(page, 'many@example.com');
  await page.getByText('2 licenses. Found by e-mail.').waitFor();
  await browser.expectGoodLooks(page);
  await page.getByRole('row').filter({ hasText: '0 of 5 in use' }).getByRole('link').click();
  await title(page, /^License …/).waitFor();
  await page.getByText('by staff', { exact: true }).waitFor();
});

test('releases a machine with a reason, and shows it at once, also in the history', async () => {
  const sold = await license('ada@example.com');
  await bind(service, sold, "Ada's Mac");
  await bind(service, sold, null, 'other');
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'support', `#license/${sold.license_id}`);
  await page.getByText('2 of 2 machines in use').waitFor();
  await browser.expectGoodLooks(page);

  await button(page, "Release Ada's Mac").click();
  await dialog(page).getByRole('heading', { name: "Release Ada's Mac?" }).waitFor();
  await button(dialog(page), 'Release').click();
  await dialog(page).getByText('Say why, in a few words.').waitFor();
  await expectFocus(dialog(page).getByLabel('Why?'));
  await dialog(page).getByLabel('Why?').fill('ask ada@example.com');
  await button(dialog(page), 'Release').click();
  await dialog(page)
    .getByText(/^Leave out the e-mail address/)
    .waitFor();
  await browser.expectGoodLooks(page);
  await button(dialog(page), 'Lost').click();
  await button(dialog(page), 'Release').click();

  const released = row(page, "Ada's Mac").first();
  await released.getByText('Released on 20 November').waitFor();
  await expectFocus(released);
  await announced(page, "Released Ada's Mac.");
  await page.getByText('1 of 2 machines in use').waitFor();
  const entry = row(page, /^Released a machine/);
  await entry.getByText('Lost').waitFor();
  await entry.getByText('support@example.com').waitFor();
  await browser.expectGoodLooks(page);
});

test('releases a machine by the keyboard alone', async () => {
  const sold = await license('keys@example.com');
  await bind(service, sold, 'Studio');
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'support');
  const tabTo = async (name: string) => {
    for (let steps = 0; steps < 60; steps += 1) {
      await page.keyboard.press('Tab');
      const focused = await page.evaluate(
        'document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent',
      );
      if (focused === name) return;
    }
    throw new Error(`The focus does not reach ${name}.`);
  };
  await expectFocus(page.getByRole('textbox', { name: 'E-mail, license key' }));
  await page.keyboard.type('keys@example.com');
  await page.keyboard.press('Enter');
  await expectFocus(title(page, /^License …/));
  // The skip link leads to the content, and to no other view.
  await page.evaluate('document.activeElement.blur()');
  await tabTo('Skip to the content');
  await page.keyboard.press('Enter');
  await expectFocus(page.getByRole('main'));
  await tabTo('Release Studio');
  await page.keyboard.press('Enter');
  await dialog(page).waitFor();
  // Escape closes the dialog, and the focus returns to where it was.
  await page.keyboard.press('Escape');
  await dialog(page).waitFor({ state: 'detached' });
  await expectFocus(button(page, 'Release Studio'));
  await page.keyboard.press('Enter');
  await expectFocus(button(dialog(page), 'New machine'));
  await page.keyboard.press('Space');
  await tabTo('Release');
  await page.keyboard.press('Enter');
  await expectFocus(row(page, 'Studio').first());
});

test('a hostile name is shown as text', async () => {
  const names = [
    '<img src=x onerror=alert(1)>',
    '{{7*7}} ${7*7} $& {machine}',
    '\u05d0\u05d1\u05d2 \u0627\u0644\u062d\u0627\u0633\u0648\u0628',
    `${'W'.repeat(40)}😀`,
  ];
  const sold = await license('hostile@example.com', names.length);
  for (const name of names) await bind(service, sold, name);
  const [first] = await service.sql<{ id: string }>(
    'select id from activation where license_id = $1 and hostname_hint = $2',
    [sold.license_id, names[0]],
  );
  await askForRelease(service, first!.id, '<script>alert(1)</script> '.repeat(15));
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'support', `#license/${sold.license_id}`);
  for (const name of names) await row(page, name).first().waitFor();
  await browser.expectGoodLooks(page);
  await button(page, `Release ${names[1]}`).click();
  await dialog(page).getByText(names[1]!, { exact: true }).waitFor();
  await sayWhy(page, 'Sold', 'Release');
  await announced(page, `Released ${names[1]}.`);
  expect(await page.locator('main img, main script').count()).toBe(0);
});

test('five hundred machines are as usable as one', async () => {
  const sold = await license('company@example.com', 600);
  await service.sql(
    `insert into activation (id, license_id, machine_id, hostname_hint, app_version, activated_at)
     select gen_random_uuid(), $1, decode(lpad(to_hex(n), 64, '0'), 'hex'), 'Studio ' || n, '3.2.0', '2026-11-01'
     from generate_series(1, 500) n`,
    [sold.license_id],
  );
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'support', `#license/${sold.license_id}`);
  await page.getByText('500 of 600 machines in use').waitFor();
  expect(await page.getByRole('button', { name: /^Release Studio/ }).count()).toBe(25);
  await page.getByLabel('Find a machine by its name or id').fill('studio 499');
  expect(await page.getByRole('button', { name: /^Release Studio/ }).count()).toBe(1);
  await page.getByLabel('Find a machine by its name or id').fill('nothing like it');
  await page.getByText('None of the machines has this').waitFor();
  await service.sql(
    "update activation set ended_at = '2026-11-02', ended_reason = 'released' where license_id = $1 and hostname_hint = 'Studio 7'",
    [sold.license_id],
  );
  await page.reload();
  await button(page, 'Later').click();
  await page.getByLabel('Find a machine by its name or id').fill('studio 7');
  await page.getByRole('status').getByText('11 machines', { exact: true }).waitFor({ state: 'attached' });
  const [ended] = await service.sql<{ id: string }>(
    "select id from activation where license_id = $1 and hostname_hint = 'Studio 7'",
    [sold.license_id],
  );
  await page.getByLabel('Find a machine by its name or id').fill(ended!.id);
  await page.getByText('None of those in use has this name or id.').waitFor();
  await row(page, 'Studio 7').getByText('Released on 2 November').waitFor();
  await page.getByLabel('Find a machine by its name or id').fill('');
  await button(page, 'Show all 499').click();
  await expectFocus(page.getByRole('table', { name: 'Machines in use' }).locator('tbody > tr').nth(25));
  expect(await page.getByRole('button', { name: /^Release Studio/ }).count()).toBe(499);
  await browser.expectAccessible(page);
});

test('an admin changes a license, and only changed fields are sent', async () => {
  const sold = await license('changed@example.com');
  await service.setLicense(sold.license_id, { expires_at: new Date('2027-01-04T12:30:00Z') });
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'admin', `#license/${sold.license_id}`);
  await page.getByText('Updates through 4 January 2027').waitFor();
  await button(page, 'Change …').click();
  await browser.expectGoodLooks(page);
  await dialog(page).getByLabel('Why?').fill('Nothing yet');
  await button(dialog(page), 'Change').click();
  await dialog(page)
    .getByText(/^Nothing is different yet/)
    .waitFor();
  await dialog(page).getByLabel('Machines allowed').fill('many');
  await button(dialog(page), 'Change').click();
  await dialog(page)
    .getByText(/^A whole number/)
    .waitFor();
  await dialog(page).getByLabel('Machines allowed').fill('4');
  await dialog(page).getByLabel('Status').selectOption('suspended');
  await sayWhy(page, 'Bought two more', 'Change');
  await page.getByText('0 of 4 machines in use').waitFor();
  await page.getByText('Suspended', { exact: true }).waitFor();
  const [stored] = await service.sql(
    'select machines_allowed, staff_status, expires_at from license where id = $1',
    [sold.license_id],
  );
  expect(stored).toEqual({
    machines_allowed: 4,
    staff_status: 'suspended',
    expires_at: new Date('2027-01-04T12:30:00Z'),
  });

  await button(page, 'Change …').click();
  await dialog(page).getByLabel('Last day').fill('2026-01-31');
  await dialog(page).getByLabel('After that').selectOption('stop');
  await dialog(page).getByLabel('E-mail of the holder').fill('given@example.com');
  await sayWhy(page, 'Given to a colleague', 'Change');
  await page.getByText('Ran through 31 January 2026').waitFor();
  await fact(page, 'Holder').getByText('given@example.com').waitFor();
});

test('the key is mailed and replaced, and never shown', async () => {
  const sold = await license('key@example.com');
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'admin', `#license/${sold.license_id}`);
  await button(page, 'Send the key').click();
  await button(dialog(page), 'Send').click();
  await page.getByText('The key is on its way to key@example.com.').first().waitFor();
  await row(page, /^Sent the key by mail/).waitFor();
  await button(page, 'New key …').click();
  await browser.expectGoodLooks(page);
  await sayWhy(page, 'It leaked', 'Make a new key');
  await page.getByText('There is a new key, on its way to key@example.com.').first().waitFor();
  await row(page, /^Made a new key/)
    .getByText('It leaked')
    .waitFor();
});

test('an admin issues a license, whose key is shown once', async () => {
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'admin');
  await button(page, 'Issue a license').click();
  await button(dialog(page), 'Issue').click();
  await dialog(page).getByText('This is no e-mail address.').waitFor();
  await dialog(page).getByLabel('E-mail of the holder').fill('issued@example.com');
  await dialog(page).getByLabel('Machines allowed').fill('3');
  await button(dialog(page), 'Issue').click();
  const key = await dialog(page).getByLabel('License key').textContent();
  expect(key).toMatch(/^[A-Z0-9]+_([0-9A-Z]{4}-){3}[0-9A-Z]{4}$/);
  await browser.expectGoodLooks(page);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await button(dialog(page), 'Copy the key').click();
  await dialog(page).getByText('Copied.').waitFor();
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(key);
  await button(dialog(page), 'Open the license').click();
  await page.getByText('0 of 3 machines in use').waitFor();
});

test('an admin erases a holder after typing the e-mail address', async () => {
  const sold = await license('leaves@example.com');
  await bind(service, sold, 'Leaving');
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'admin', `#license/${sold.license_id}`);
  await button(page, 'Erase the holder …').click();
  await dialog(page).getByLabel('Why?').fill('Asked on the telephone');
  await button(dialog(page), 'Erase').click();
  await dialog(page)
    .getByText(/^This is not the holder/)
    .waitFor();
  await browser.expectGoodLooks(page);
  await dialog(page).getByLabel('Type the e-mail').fill('Leaves@example.com');
  await button(dialog(page), 'Erase').click();
  await page
    .getByText(/^The holder is being erased/)
    .first()
    .waitFor();
  await until(async () => {
    const [left] = await service.sql('select email from license where id = $1', [sold.license_id]);
    return left!['email'] === null;
  });
});

test('an erased license has no holder to send a key to', async () => {
  const sold = await license('erased@example.com');
  await service.sql('update license set email = null, ended_at = now() where id = $1', [sold.license_id]);
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'admin', `#license/${sold.license_id}`);
  await page.getByText(/^Erased: the e-mail is gone/).waitFor();
  await browser.expectGoodLooks(page);
  for (const name of ['Send the key', 'New key …', 'Erase the holder …'])
    expect(await button(page, name).count()).toBe(0);
});

test('a license whose address a restore lost says so, and an admin sets the address again', async () => {
  const sold = await license('lost@example.com');
  await service.sql('update license set email = null, address_lost_at = now() where id = $1', [
    sold.license_id,
  ]);
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'admin', `#license/${sold.license_id}`);
  await page.getByText(/^Unknown since a backup was restored/).waitFor();
  await browser.expectGoodLooks(page);
  await button(page, 'Change …').click();
  await dialog(page).getByLabel('E-mail of the holder').fill('Found@example.com');
  await sayWhy(page, 'Asked by phone', 'Change');
  await fact(page, 'Holder').getByText('found@example.com').waitFor();
});

test('the role support is not shown what only an admin may do', async () => {
  const sold = await license('roles@example.com');
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'support', `#license/${sold.license_id}`);
  await button(page, 'Send the key').waitFor();
  for (const name of ['Change …', 'New key …', 'Erase the holder …'])
    expect(await button(page, name).count()).toBe(0);
  expect(await page.getByRole('link', { name: 'Staff' }).count()).toBe(0);
  await page.goto('/support/#staff');
  await title(page, /^Which binding/).waitFor();
  expect(await button(page, 'Issue a license').count()).toBe(0);
});

test('a license that does not exist is reported as such', async () => {
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'support', '#license/0198f000-0000-7000-8000-00000000dead');
  await page.getByText(/^There is no license of this id/).waitFor();
  await browser.expectGoodLooks(page);
});

test('a release that fails because the service is unavailable can be tried again as it was typed', async () => {
  const sold = await license('released@example.com');
  await bind(service, sold, 'Travel');
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'support', `#license/${sold.license_id}`);
  await button(page, 'Release Travel').click();
  await dialog(page).getByLabel('Why?').fill('Stolen in a train');
  await page.route('**/activations/*/release', (route) => route.fulfill({ status: 503 }));
  await button(dialog(page), 'Release').click();
  await dialog(page)
    .getByText(/^The service cannot be reached/)
    .waitFor();
  await browser.expectGoodLooks(page);
  await page.unroute('**/activations/*/release');
  await button(dialog(page), 'Release').click();
  await row(page, 'Travel').first().getByText('Released on 20 November').waitFor();
  await row(page, /^Released a machine/)
    .getByText('Stolen in a train')
    .waitFor();
});

test('refusals of the service are explained', async () => {
  const sold = await license('refused@example.com');
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'admin', `#license/${sold.license_id}`);
  await button(page, 'Send the key').click();
  // The license was imported, so its key cannot be derived.
  await service.sql("update license set key_hash = decode(repeat('ab', 32), 'hex') where id = $1", [
    sold.license_id,
  ]);
  await button(dialog(page), 'Send').click();
  await dialog(page)
    .getByText(/^This key was made elsewhere/)
    .waitFor();
});

test('a request about a machine that is not in the list is decided in the visible part of the page', async () => {
  const sold = await license('hidden@example.com', 100);
  const asked = await bind(service, sold, 'The oldest');
  await service.sql(
    `insert into activation (id, license_id, machine_id, hostname_hint, app_version, activated_at)
     select gen_random_uuid(), $1, decode(lpad(to_hex(n), 64, '0'), 'hex'), 'Newer ' || n, '3.2.0', now() + interval '1 day'
     from generate_series(1, 30) n`,
    [sold.license_id],
  );
  await askForRelease(service, asked, null);
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'support', `#license/${sold.license_id}`);
  await button(page, 'Decline to release The oldest').click();
  await sayWhy(page, 'Still in use', 'Decline');
  await toasted(page, 'Declined to release The oldest.');
  await expectFocus(page.getByRole('heading', { level: 1 }));
});

test('of two people who change one license, the second gets an explanation and the present values', async () => {
  const sold = await license('both@example.com', 1);
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'admin', `#license/${sold.license_id}`);
  await button(page, 'Change …').click();
  await dialog(page).getByLabel('Machines').fill('5');
  await service.setLicense(sold.license_id, { machines_allowed: 2 });
  await dialog(page).locator('[name=reason]').fill('Grew');
  await button(dialog(page), 'Change').click();
  await dialog(page).getByRole('alert').getByText('Another person has changed this license').waitFor();
  await browser.expectGoodLooks(page);
  await page.getByText('0 of 2 machines in use').waitFor();
  await button(dialog(page), 'Cancel').click();
  await button(page, 'Change …').click();
  await dialog(page).getByLabel('Machines').fill('5');
  await sayWhy(page, 'Grew', 'Change');
  await page.getByText('0 of 5 machines in use').waitFor();
});

test('the e-mail address and the ids are copied with one click', async () => {
  const sold = await license('copied@example.com', 1);
  const id = await bind(service, sold, 'Studio Mac');
  const page = await browser.page(origin, { permissions: ['clipboard-read', 'clipboard-write'] });
  await openAs(page, origin, service, 'support', `#license/${sold.license_id}`);
  for (const [what, text] of [
    ['e-mail', 'copied@example.com'],
    ['license id', sold.license_id],
    ['activation id', id],
  ]) {
    await button(page, `Copy the ${what}`).click();
    await toasted(page, `The ${what} is copied.`);
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(text);
  }
  await browser.expectGoodLooks(page);
});

test('a release of a machine that another person released meanwhile says so', async () => {
  const sold = await license('twice@example.com', 1);
  const id = await bind(service, sold, 'Studio Mac');
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'support', `#license/${sold.license_id}`);
  await button(page, 'Release Studio Mac').click();
  await service.app.get(ReleaseService).release(id, ACT);
  await sayWhy(page, 'Sold', 'Release');
  await toasted(page, 'Someone had released Studio Mac already.');
});

test('a license is read again when its tab is shown again', async () => {
  const sold = await license('tab@example.com', 1);
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'support', `#license/${sold.license_id}`);
  await page.getByText('0 of 1 machine in use').waitFor();
  await service.setLicense(sold.license_id, { machines_allowed: 7 });
  await page.evaluate(`dispatchEvent(new Event('focus'))`);
  await page.getByText('0 of 7 machines in use').waitFor();
});

test('an action in progress cannot be cancelled, so that the key of a new license is not lost', async () => {
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'admin');
  const { promise: answer, resolve: answerNow } = Promise.withResolvers<void>();
  let asked = 0;
  await page.route('**/support/api/licenses', async (route) => {
    asked += 1;
    await answer;
    await route.continue();
  });
  await button(page, 'Issue a license').click();
  await dialog(page).getByLabel('E-mail of the holder').fill('slow@example.com');
  await button(dialog(page), 'Issue').dblclick();
  await until(async () => asked === 1);
  // The click is forced, because the button is disabled.
  await button(dialog(page), 'Cancel').click({ force: true });
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  answerNow();
  await page.getByRole('dialog', { name: 'The license is issued' }).waitFor();
  const issued = await service.sql("select id from license where email = 'slow@example.com'");
  expect(issued).toHaveLength(1);
});

test('the focus goes to the field that the service refuses', async () => {
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'admin');
  await button(page, 'Issue a license').click();
  await dialog(page).getByLabel('E-mail of the holder').fill('two@signs@example.com');
  await button(dialog(page), 'Issue').click();
  await dialog(page).getByText('Something above is not right yet.').waitFor();
  await expectFocus(dialog(page).getByLabel('E-mail of the holder'));
});

test('the link back leads to the search results in their current state', async () => {
  const sold = await license('back@example.com', 2);
  await license('back@example.com', 1);
  await bind(service, sold, 'Back Mac');
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'support');
  await find(page, 'back@example.com');
  await page.getByRole('row').filter({ hasText: '1 of 2 in use' }).getByRole('link').click();
  await button(page, 'Release Back Mac').click();
  await sayWhy(page, 'Sold', 'Release');
  await page.getByText('0 of 2 machines in use').waitFor();
  await page.goBack();
  await page.getByRole('row').filter({ hasText: '0 of 2 in use' }).waitFor();
});
