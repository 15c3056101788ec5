import { expect, test } from '@jest/globals';
import type { Locator } from 'playwright-core';
import { sell } from '../erasure/harness.js';
import { until } from '../support/until.js';
import { focusWindow } from './portal-browser.js';
import { endRoute, holdNextAnswer } from './routes.js';
import { startForBrowser } from './service.js';
import {
  insertReleaseRequest,
  button,
  dialog,
  factValue,
  find,
  openAs,
  passUndoTime,
  row,
  submitReason,
  submitRelease,
  title,
  untilAnswered,
} from './support-browser.js';
import { DAY_MS } from '../../src/core/clock.js';
import { LicenseKeys } from '../../src/keys/license-keys.js';
import { LicensesService } from '../../src/licenses/licenses.service.js';
import { PurchasesService } from '../../src/purchases/purchases.service.js';
import { ReleaseService } from '../../src/releases/release.service.js';
import {
  activateMachine,
  enterBeforePaint,
  readExactTime,
  expectFocus,
  expectAnnounced,
  expectToast,
  closeByEscape,
  expectText,
  nextFrame,
} from './steps.js';
import { AUDIT_CONTEXT, MINUTE_MS, HOUR_MS } from '../support/harness.js';

const { service, origin, browser } = await startForBrowser();

const issueLicense = (email: string, machines_allowed = 2) => service.issue({ email, machines_allowed });

/** Activates more machines than the page lists at first, all newer than those of a test. */
const insertNewerMachines = (licenseId: string) =>
  service.sql(
    `insert into activation (id, license_id, machine_id, hostname_hint, app_version, activated_at)
     select gen_random_uuid(), $1, decode(lpad(to_hex(n), 64, '0'), 'hex'), 'Newer ' || n, '3.2.0', now() + interval '1 day'
     from generate_series(1, 29) n`,
    [licenseId],
  );

test('the search finds a license by each kind of text, and the URL then contains only ids', async () => {
  const license = await issueLicense('four@example.com');
  const activation = await activateMachine(service, license, 'Four');
  await service.setPurchase(license.license_id, 'paid', 'txn_four');
  const previousKey = 'KEY-OF-ANOTHER-SYSTEM-'.repeat(20);
  await service.sql(`update license set previous_key_hash = $1, previous_key_hint = 'TEM-' where id = $2`, [
    service.app.get(LicenseKeys).hashesOfTyped(previousKey)[1],
    license.license_id,
  ]);
  const page = await openAs(browser, origin, service, 'support');
  for (const [text, kind] of [
    [' Four@Example.com ', 'e-mail'],
    ['Zoe <mailto:four@example.com>.', 'e-mail'],
    ['ｆｏｕｒ＠ｅｘａｍｐｌｅ．ｃｏｍ', 'e-mail'],
    [license.license_key.toLowerCase(), 'license key'],
    [`“${license.license_key.slice(-19).replaceAll('-', ' – ')}”.`, 'license key'],
    [previousKey, 'license key'],
    [license.license_id, 'license id'],
    ['txn_four', 'transaction id'],
    [activation, 'activation id'],
    [activation.toUpperCase(), 'activation id'],
    [`id: “${activation.replaceAll('-', '').toUpperCase()}”.`, 'activation id'],
  ] as const) {
    await find(page, text);
    await expectFocus(kind === 'activation id' ? row(page, 'Four') : title(page, /^License ending in/));
    await expectAnnounced(page, `Found one license by its ${kind}.`);
    await row(page, 'Four').waitFor();
    const id = kind === 'activation id' ? `${license.license_id}/${activation}` : license.license_id;
    expect(page.url()).toBe(`${origin}/support/#license/${id}`);
    await page.goBack();
    await title(page, /^Find a license/).waitFor();
    // The search text and its results are still shown, and the license is not opened again.
    await expectText(page, `1 license. Found by ${kind}.`);
    const link = page.getByRole('table').getByRole('link');
    expect(await link.getAttribute('href')).toBe(`#license/${id}`);
  }
});

test('the search reports what was searched if nothing is found, and what is wrong with an invalid text', async () => {
  const page = await openAs(browser, origin, service, 'support');
  await button(page, 'Find').click();
  await expectText(page, 'Type what the person gave you.');
  await expectFocus(page.getByRole('textbox'));
  for (const [text, sentence] of [
    ['unknown@example.com', 'No license has this e-mail.'],
    ['MOORING_0000-0000-0000-0000', 'No license has this license key.'],
    ['<img src=x onerror="alert(document.title)">', 'No license has this transaction id.'],
    ['0198f000-0000-7000-8000-00000000dead', 'No license and no activation has this id.'],
  ] as const) {
    await find(page, text);
    await page.getByText(sentence).first().waitFor();
  }
  await find(page, '   ');
  await expectText(page, 'Type what the person gave you.');
  expect(
    await page.getByText('No license and no activation has this id.').and(page.locator('main *')).count(),
  ).toBe(0);
  await find(page, 'MOORING_0000-0000-0000-0001');
  const mistyped = page.getByText(/^One character looks mistyped/);
  await mistyped.waitFor();
  // What was found belongs to the text that was searched, also while another one is typed.
  await page.getByRole('textbox').fill('MOORING_0000');
  expect(await mistyped.count()).toBe(1);
  await browser.expectAccessibleLayout(page);
  await find(page, 'two@signs@example.com');
  await expectText(page, /^It must/);
});

test('a result of a search that arrives late is not shown as that of a later search, and closes no dialog', async () => {
  await issueLicense('held@example.com');
  await issueLicense('late@example.com');
  const page = await openAs(browser, origin, service, 'admin');
  const first = await holdNextAnswer(page, '**/licenses/search');
  await find(page, 'held@example.com');
  const sendFirst = await first.held;
  await page.getByRole('link', { name: 'Release requests' }).click();
  await title(page, 'Release requests').waitFor();
  await page.goBack();
  await find(page, 'nobody@example.com');
  const nothing = page.getByText('No license has this e-mail.').and(page.locator('main *'));
  await nothing.waitFor();
  await sendFirst();
  await nextFrame(page);
  expect(await nothing.count()).toBe(1);
  expect(await page.getByRole('table').count()).toBe(0);

  const later = await holdNextAnswer(page, '**/licenses/search');
  await find(page, 'late@example.com');
  const sendLater = await later.held;
  await button(page, 'Issue a license').click();
  await dialog(page).waitFor();
  await sendLater();
  await page.locator('table').getByText('late@example.com').waitFor();
  await nextFrame(page);
  expect(await dialog(page).count()).toBe(1);
  expect(page.url()).not.toContain('#license');
});

test('what is typed into the search before the first paint is not selected', async () => {
  const page = await browser.openPage(origin);
  await enterBeforePaint(page, '[role=search] input', 'early@example.co');
  await openAs(page, origin, service, 'support');
  const field = page.getByRole('textbox', { name: 'E-mail, license key' });
  await expectFocus(field);
  await page.keyboard.type('m');
  expect(await field.inputValue()).toBe('early@example.com');
});

test('a searched activation is shown first, marked and focused, whether it is in use or has ended; after a decision about a machine that is not shown, the heading is focused', async () => {
  const license = await issueLicense('rows@example.com', 40);
  const first = await activateMachine(service, license, 'Oldest', 'machine-0');
  await insertNewerMachines(license.license_id);
  const page = await openAs(browser, origin, service, 'support');
  await find(page, first);
  const found = page.locator('tbody > tr').first();
  await expectText(found, 'Oldest');
  await expectText(found, 'Found by this id');
  await expectFocus(found);
  await browser.expectAccessible(page);
  await page.emulateMedia({ colorScheme: 'dark' });
  await browser.expectAccessible(page, 'colours');

  await button(page, 'Release Oldest').click();
  await submitRelease(page, 'Sold');
  await expectToast(page, 'Released Oldest.');
  await page.goto('/support/#find');
  await find(page, first);
  const ended = page.locator('details[open] tbody > tr').first();
  await expectText(ended, 'Found by this id');
  await expectFocus(ended);

  // An id that the license does not have is reported.
  await page.goto(`/support/#license/${license.license_id}/0198f000-0000-7000-8000-00000000dead`);
  await expectText(page, /^This license has no activation with the id/);
  // The id in a link may be in upper case.
  await page.goto(`/support/#license/${license.license_id}/${first.toUpperCase()}`);
  await expectFocus(ended);
  expect(await page.getByText(/^This license has no activation with the id/).count()).toBe(0);

  await page.goto('/support/#license/0198f000-0000-7000-8000-00000000dead');
  await expectText(page, /^There is no license with this id/);

  const other = await issueLicense('hidden@example.com', 40);
  await insertReleaseRequest(service, await activateMachine(service, other, 'The oldest'), null);
  await insertNewerMachines(other.license_id);
  await page.goto(`/support/#license/${other.license_id}`);
  await button(page, 'Decline to release The oldest').click();
  await submitReason(page, 'Still in use', 'Decline');
  await expectToast(page, 'Declined to release The oldest.');
  await expectFocus(page.getByRole('heading', { level: 1 }));
});

test('a machine is released with a reason, and the page shows that at once, also in the history', async () => {
  const license = await issueLicense('ada@example.com');
  await activateMachine(service, license, "Ada's Mac");
  await activateMachine(service, license, null, 'other');
  const page = await openAs(browser, origin, service, 'support', `#license/${license.license_id}`);
  await expectText(page, '2 of 2 machines in use');
  await browser.expectAccessibleLayout(page);

  await button(page, "Release Ada's Mac").click();
  await dialog(page).getByRole('heading', { name: "Release Ada's Mac?" }).waitFor();
  expect(await button(dialog(page), 'Release').getAttribute('class')).toContain('danger');
  await button(dialog(page), 'Release').click();
  await expectText(dialog(page), 'Say why, in a few words.');
  await expectFocus(dialog(page).getByLabel('Why?'));
  await dialog(page).getByLabel('Why?').fill('ask ada@example.com');
  await button(dialog(page), 'Release').click();
  await expectText(dialog(page), /^Leave out the e-mail address/);
  await browser.expectAccessibleLayout(page);
  await button(dialog(page), 'Lost').click();
  await button(dialog(page), 'Release').click();
  await dialog(page).waitFor({ state: 'detached' });
  await passUndoTime(page);

  const released = row(page, "Ada's Mac").first();
  await expectText(released, 'Released on 20 November');
  await expectFocus(released);
  await expectAnnounced(page, "Released Ada's Mac.");
  await expectText(page, '1 of 2 machines in use');
  const entry = row(page, /support@example.com released “Ada's Mac” …[0-9a-f]{4} of this license/);
  await expectText(entry, 'Lost');
});

test('a machine is released by keyboard alone', async () => {
  const license = await issueLicense('keys@example.com');
  await activateMachine(service, license, 'Studio');
  const page = await openAs(browser, origin, service, 'support');
  const tabToName = async (name: string) => {
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
  await expectFocus(title(page, /^License ending in/));
  // The skip link leads to the content, and to no other view.
  await page.evaluate('document.activeElement.blur()');
  await tabToName('Skip to the content');
  await page.keyboard.press('Enter');
  await expectFocus(page.getByRole('main'));
  await tabToName('Release Studio');
  await page.keyboard.press('Enter');
  await dialog(page).waitFor();
  // Escape closes the dialog, and the focus returns to where it was.
  await page.keyboard.press('Escape');
  await dialog(page).waitFor({ state: 'detached' });
  await expectFocus(button(page, 'Release Studio'));
  await page.keyboard.press('Enter');
  await expectFocus(button(dialog(page), 'New machine'));
  await page.keyboard.press('Space');
  await tabToName('Release');
  await page.keyboard.press('Enter');
  await expectFocus(row(page, 'Studio').first());
  await passUndoTime(page);
  await expectText(row(page, 'Studio').first(), 'Released on 20 November');
  await expectFocus(row(page, 'Studio').first());
});

test('a hostile machine label or reason is shown as text', async () => {
  const names = [
    '<img src=x onerror=alert(1)>',
    '{{7*7}} ${7*7} $& {machine}',
    '\u05d0\u05d1\u05d2 \u0627\u0644\u062d\u0627\u0633\u0648\u0628',
    `${'W'.repeat(40)}😀`,
  ];
  const license = await issueLicense('hostile@example.com', names.length);
  for (const name of names) await activateMachine(service, license, name);
  const [first] = await service.sql<{ id: string }>(
    'select id from activation where license_id = $1 and hostname_hint = $2',
    [license.license_id, names[0]],
  );
  await insertReleaseRequest(service, first!.id, '<script>alert(1)</script> '.repeat(15));
  const page = await openAs(browser, origin, service, 'support', `#license/${license.license_id}`);
  for (const name of names) await row(page, name).first().waitFor();
  await browser.expectLayout(page);
  for (const name of [names[1]!, names[0]!]) {
    await button(page, `Release ${name}`).click();
    await dialog(page).getByText(name, { exact: true }).first().waitFor();
    await submitReason(page, 'Sold', 'Release');
    await expectToast(page, `Releases in 10 seconds: ${name}`);
    await passUndoTime(page);
    await expectToast(page, `Released ${name}.`);
  }
  expect(await page.locator('.toast img, main img, main script').count()).toBe(0);
});

test('several machines of a license are selected by keyboard, which does not go through the history, and released with one reason', async () => {
  const license = await issueLicense('batch@example.com', 4);
  const hostile = `<img src=x onerror=alert(1)> {machine} \u05d0\u05d1 ${'W'.repeat(30)}😀`;
  for (const name of ['Stays', 'Studio', hostile, 'Undone']) {
    await activateMachine(service, license, name);
    service.clock.advance(60_000);
  }
  const page = await openAs(browser, origin, service, 'support', `#license/${license.license_id}`);
  await row(page, 'Stays').waitFor();
  // The newest machine is in the first row.
  for (const key of ['j', 'x', 'j', 'x', 'j', 'x', 'Shift+R']) await page.keyboard.press(key);
  await dialog(page).getByRole('heading', { name: 'Release 3 machines?' }).waitFor();
  await dialog(page).getByRole('listitem').getByText(hostile, { exact: true }).waitFor();
  await browser.expectAccessibleLayout(page);
  await submitReason(page, 'Sold', 'Release');
  await expectToast(page, 'Releases in 10 seconds: 3 machines');
  await expectFocus(row(page, 'Undone'));
  await page.keyboard.press('z');
  await expectToast(page, 'Not released: 3 machines.');
  // After the undo the machines are selected again.
  await expectText(page, '3 selected');
  await expectFocus(row(page, 'Undone'));
  await page.keyboard.press('x');
  await page.keyboard.press('Shift+R');
  await submitRelease(page, 'Sold to a friend');
  await expectToast(page, 'Released 2 of 2 machines.');
  for (const name of ['Studio', hostile])
    await expectText(row(page, name).first(), 'Released on 20 November');
  await expectText(page, '2 of 4 machines in use');
  const events = await service.sql(
    "select change from audit_event where action = 'activation.release' and license_id = $1 and reason = 'Sold to a friend'",
    [license.license_id],
  );
  expect(events).toHaveLength(2);
  expect(await page.locator('main img, main script, .toasts img').count()).toBe(0);
  await row(page, /released “Studio”/).waitFor();
  for (const key of ['j', 'j', 'j', 'j', 'j']) await page.keyboard.press(key);
  await expectFocus(page.getByRole('table', { name: 'Machines in use' }).getByRole('row').last());
});

test('a key that is pressed as soon as the rows are shown has its effect, also before their first frame', async () => {
  const license = await issueLicense('quick@example.com');
  for (const name of ['Studio', 'Office']) await activateMachine(service, license, name);
  const page = await browser.openPage(origin);
  await page.addInitScript(
    'window.requestAnimationFrame = (work) => setTimeout(work, 500); window.cancelAnimationFrame = clearTimeout',
  );
  await openAs(page, origin, service, 'support', `#license/${license.license_id}`);
  await row(page, 'Studio').waitFor();
  for (const key of ['j', 'x', 'j', 'x']) await page.keyboard.press(key);
  await expectText(page, '2 selected');
});

test('a list of 500 machines can be filtered, and is shown in full on request', async () => {
  const license = await issueLicense('company@example.com', 600);
  await service.sql(
    `insert into activation (id, license_id, machine_id, hostname_hint, app_version, activated_at)
     select gen_random_uuid(), $1, decode(lpad(to_hex(n), 64, '0'), 'hex'), 'Studio ' || n, '3.2.0', '2026-11-01'
     from generate_series(1, 500) n`,
    [license.license_id],
  );
  const page = await openAs(browser, origin, service, 'support', `#license/${license.license_id}`);
  await expectText(page, '500 of 600 machines in use');
  expect(await page.getByRole('button', { name: /^Release Studio/ }).count()).toBe(25);
  await page.getByLabel('Find a machine by its name or the end of its id').fill('studio 499');
  expect(await page.getByRole('button', { name: /^Release Studio/ }).count()).toBe(1);
  // Screen readers announce a new text only in an element that was there before.
  const region = await page
    .getByRole('status')
    .filter({ hasText: /^\d+ machines?$/ })
    .elementHandle();
  await page.getByLabel('Find a machine by its name or the end of its id').fill('nothing like it');
  await expectText(page, 'None of the machines has this');
  expect(await region!.innerText()).toBe('None of the machines has this name or id.');
  await service.sql(
    "update activation set ended_at = '2026-11-02', ended_reason = 'released' where license_id = $1 and hostname_hint = 'Studio 7'",
    [license.license_id],
  );
  await focusWindow(page);
  await page.getByLabel('Find a machine by its name or the end of its id').fill('studio 7');
  await page.getByRole('status').getByText('11 machines', { exact: true }).waitFor({ state: 'attached' });
  const [ended] = await service.sql<{ id: string }>(
    "select id from activation where license_id = $1 and hostname_hint = 'Studio 7'",
    [license.license_id],
  );
  await page.getByLabel('Find a machine by its name or the end of its id').fill(ended!.id);
  await expectText(page, 'None of those in use has this name or id.');
  await expectText(row(page, 'Studio 7'), 'Released on 2 November');
  await page.getByLabel('Find a machine by its name or the end of its id').fill('');
  await browser.expectAccessible(page);
  await button(page, 'Show all 499').click();
  await expectFocus(page.getByRole('table', { name: 'Machines in use' }).locator('tbody > tr').nth(25));
  expect(await page.getByRole('button', { name: /^Release Studio/ }).count()).toBe(499);
});

test('eleven machines have a filter, and ten have none; it takes the end of an activation id as a holder reads it out, and keeps the selection', async () => {
  const license = await issueLicense('eleven@example.com', 20);
  const insertMachines = (first: number, last: number) =>
    service.sql(
      `insert into activation (id, license_id, machine_id, hostname_hint, app_version, activated_at)
       select ('0198f000-0000-7000-8000-00000000' || to_hex(x'ac00'::integer + n))::uuid, $1,
         decode(lpad(to_hex(n), 64, '0'), 'hex'), 'Büro ' || n, '3.2.0', '2026-11-01'
       from generate_series($2::integer, $3::integer) n`,
      [license.license_id, first, last],
    );
  await insertMachines(1, 10);
  const page = await openAs(browser, origin, service, 'support', `#license/${license.license_id}`);
  const releases = page.getByRole('button', { name: /^Release Büro/ });
  await releases.nth(9).waitFor();
  const filter = page.getByLabel('Find a machine by its name or the end of its id');
  expect(await filter.count()).toBe(0);
  await insertMachines(11, 11);
  await focusWindow(page);
  await releases.nth(10).waitFor();
  // A text that was copied on a Mac may have a letter and its dots as two characters.
  for (const typed of ['AC05', '…ac05 ', '0198f000-0000-7000-8000-00000000ac05', 'büro 5'.normalize('NFD')]) {
    await filter.fill(typed);
    await button(page, 'Release Büro 6').waitFor({ state: 'detached' });
    expect(await releases.count()).toBe(1);
    await button(page, 'Release Büro 5').waitFor();
    await filter.fill('');
    await button(page, 'Release Büro 6').waitFor();
  }
  const checkbox = page.getByRole('checkbox', { name: /^Select Büro 7,/ });
  await checkbox.check();
  await filter.fill('Bürp');
  await expectText(page, 'None of the machines has this name or id.');
  expect(await page.getByRole('table', { name: 'Machines in use' }).count()).toBe(0);
  await filter.fill('');
  await checkbox.waitFor();
  expect(await checkbox.isChecked()).toBe(true);
});

test('the page of a license says that it is revoked, refunded, erased or has lost its address, and offers only the actions that fit', async () => {
  const license = await issueLicense('ended@example.com');
  await service.setLicense(license.license_id, { staff_status: 'revoked' });
  const page = await openAs(browser, origin, service, 'admin', `#license/${license.license_id}`);
  await expectText(page, 'The key of a revoked license is not mailed.');
  const keyButtons = page.getByRole('button', { name: /^(Send the key|New key …)$/ });
  expect(await keyButtons.count()).toBe(0);
  await service.setLicense(license.license_id, { staff_status: 'active' });
  await focusWindow(page);
  await button(page, 'New key …').waitFor();
  expect(await keyButtons.count()).toBe(2);

  await service.sql('update license set email = null, ended_at = now() where id = $1', [license.license_id]);
  await focusWindow(page);
  await expectText(page, /^Erased: the e-mail is gone/);
  await browser.expectAccessibleLayout(page);
  for (const name of ['Send the key', 'New key …', 'Erase the holder …'])
    expect(await button(page, name).count()).toBe(0);

  const email = 'refunded@example.com';
  const refundedId = await sell(service, email, 'pi_refunded');
  const license_key = (await service.app.get(LicensesService).currentKey(refundedId))!;
  await activateMachine(service, { email, license_key }, 'Refunded Mac');
  await service.app.get(PurchasesService).record({ transaction_id: 'pi_refunded', status: 'refunded' });
  await page.goto(`/support/#license/${refundedId}`);
  await expectText(factValue(page, 'Purchase'), /refunded on 20 November 2026/);

  const lost = await issueLicense('lost@example.com');
  await service.sql('update license set email = null, address_lost_at = now() where id = $1', [
    lost.license_id,
  ]);
  await page.goto(`/support/#license/${lost.license_id}`);
  await expectText(page, /^Unknown since a backup was restored/);
  // An admin sets the address again.
  await button(page, 'Change …').click();
  await dialog(page).getByLabel('E-mail of the holder').fill('Found@example.com');
  await submitReason(page, 'Asked by phone', 'Change');
  await expectText(factValue(page, 'Holder'), 'found@example.com');
});

test('an admin changes a license: fields that were not edited keep their stored values, and a release request of an earlier holder is no longer counted', async () => {
  const license = await issueLicense('changed@example.com');
  await service.setLicense(license.license_id, { expires_at: new Date('2027-01-04T12:30:00Z') });
  await insertReleaseRequest(service, await activateMachine(service, license, 'Old'), null);
  const page = await openAs(browser, origin, service, 'admin', `#license/${license.license_id}`);
  const count = page.getByRole('link', { name: /^Release requests/ }).locator('.count');
  const readCount = async () => Number((await count.allTextContents())[0] ?? 0);
  await count.waitFor();
  const before = await readCount();
  await expectText(page, 'Updates through 4 January 2027');
  await button(page, 'Change …').click();
  await browser.expectAccessibleLayout(page);
  await dialog(page).getByLabel('Why?').fill('Nothing yet');
  await button(dialog(page), 'Change').click();
  await expectText(dialog(page).getByRole('alert'), /^Nothing is different yet/);
  await dialog(page).getByLabel('Machines allowed').fill('many');
  await button(dialog(page), 'Change').click();
  await expectText(dialog(page), /^A whole number/);
  await dialog(page).getByLabel('Machines allowed').fill('4');
  await dialog(page).getByLabel('Status').selectOption('suspended');
  await submitReason(page, 'Bought two more', 'Change');
  await expectText(page, '1 of 4 machines in use');
  await page.getByText('Suspended', { exact: true }).waitFor();
  const [stored] = await service.sql(
    'select machines_allowed, staff_status, expires_at from license where id = $1',
    [license.license_id],
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
  await submitReason(page, 'Given to a colleague', 'Change');
  await expectText(page, 'Ran through 31 January 2026');
  await expectText(factValue(page, 'Holder'), 'given@example.com');
  await until(async () => (await readCount()) === before - 1);
});

test('the dialog that changes a license says in full what each choice leads to, also on a telephone', async () => {
  const { page } = await openChangeDialog('choices@example.com');
  await page.setViewportSize({ width: 320, height: 640 });
  for (const [label, value, meaning] of [
    ['Status', 'suspended', /goes on once the license is active again\.$/],
    ['Status', 'revoked', /the license is deleted after \d+\.$/],
    ['After that', 'stop', /^It stops until/],
    ['After that', 'keep', /^It goes on with the versions/],
  ] as const) {
    const choice = dialog(page).getByLabel(label);
    await choice.selectOption(value);
    expect(await fitsOptions(choice)).toBe(true);
    await expectText(dialog(page).locator('.hint'), meaning);
  }
});

test('an admin mails the key, and makes a new key, giving a reason; of two tabs the second makes none and says why', async () => {
  const license = await issueLicense('key@example.com');
  const page = await openAs(browser, origin, service, 'admin', `#license/${license.license_id}`);
  await button(page, 'Send the key').click();
  await button(dialog(page), 'Send').click();
  await page.getByText('The key is on its way to key@example.com.').first().waitFor();
  await row(page, /mailed the key/).waitFor();
  await button(page, 'New key …').click();
  await browser.expectAccessibleLayout(page);
  await submitReason(page, 'It leaked', 'Make a new key');
  await page.getByText('There is a new key, on its way to key@example.com.').first().waitFor();
  await expectText(row(page, /made a new key/), 'It leaked');

  await button(page, 'New key …').click();
  await service.app.get(LicensesService).rekey(license.license_id, AUDIT_CONTEXT);
  await dialog(page).locator('[name=reason]').fill('It leaked');
  await button(dialog(page), 'Make a new key').click();
  await expectText(dialog(page).getByRole('alert'), 'This license was changed after you opened it');
  await expectText(dialog(page), 'Make a new key only if it still needs one.');
  // The page has read the license again, but the open dialog is still based on the old key.
  const refusal = untilAnswered(page, 'rekey');
  await button(dialog(page), 'Make a new key').click();
  await refusal;
  await expectText(dialog(page).getByRole('alert'), 'This license was changed after you opened it');
  const count = 'select count(*)::integer as keys from replaced_key where license_id = $1';
  expect(await service.sql(count, [license.license_id])).toEqual([{ keys: 2 }]);
});

test('an admin issues a license, and copies its key from the dialog; the focus goes to a field that the service refuses', async () => {
  const page = await openAs(browser, origin, service, 'admin');
  await button(page, 'Issue a license').click();
  await button(dialog(page), 'Issue').click();
  await expectText(dialog(page), 'This is no e-mail address.');
  await dialog(page).getByLabel('E-mail of the holder').fill('two@signs@example.com');
  await button(dialog(page), 'Issue').click();
  await expectText(dialog(page), 'Something above is not right yet.');
  await expectFocus(dialog(page).getByLabel('E-mail of the holder'));
  await dialog(page).getByLabel('E-mail of the holder').fill('issued@example.com');
  await dialog(page).getByLabel('Machines allowed').fill('3');
  await dialog(page).getByLabel('Last day').fill('2027-01-03');
  await expectText(dialog(page), 'The license expires when 3 January 2027 ends, in UTC.');
  await button(dialog(page), 'Issue').click();
  const key = await dialog(page).getByLabel('License key').textContent();
  expect(key).toMatch(/^[A-Z0-9]+_([0-9A-Z]{4}-){3}[0-9A-Z]{4}$/);
  await browser.expectAccessibleLayout(page);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await button(dialog(page), 'Copy the key').click();
  await expectText(dialog(page), 'Copied.');
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(key);
  await button(dialog(page), 'Open the license').click();
  await expectText(page, '0 of 3 machines in use');
});

test('a last day that is typed only in part, or in a wrong year, is refused and never taken as "never expires"; a year has four digits', async () => {
  const { license_id } = await service.issue({
    email: 'half@example.com',
    expires_at: new Date('2027-03-05Z'),
  });
  const page = await openAs(browser, origin, service, 'admin', `#license/${license_id}`);
  await button(page, 'Change …').click();
  const day = dialog(page).getByLabel('Last day');
  await dialog(page).locator('[name=reason]').fill('renewed');
  const expectRefused = async () => {
    await button(dialog(page), 'Change').click();
    await expectText(dialog(page), 'Enter the whole day, with a year from 1970 to 9999');
    await expectFocus(day);
  };
  await day.click();
  // The month is emptied.
  await page.keyboard.press('Home');
  await page.keyboard.press('Delete');
  await expectRefused();
  // A license expires on the day after its last day, so 9999-12-31 would expire in the year 10000.
  for (const wrong of ['0027-03-05', '9999-12-31']) {
    await day.fill(wrong);
    await expectRefused();
  }
  await day.fill('2028-03-05');
  await button(dialog(page), 'Change').click();
  await expectText(page, 'Updates through 5 March 2028');

  await page.goto('/support/#find');
  await button(page, 'Issue a license').click();
  await dialog(page).getByLabel('E-mail of the holder').fill('half@example.com');
  await day.click();
  // The dialog stays usable while the year is typed, of which a fifth digit is ignored.
  await page.keyboard.press('Home');
  await page.keyboard.type('030320271');
  expect(await day.inputValue()).toMatch(/^\d{4}-03-03$/);
  await expectText(dialog(page), 'The license expires when 3 March');
  await day.fill('');
  await day.click();
  // A day without its year.
  await page.keyboard.press('Home');
  await page.keyboard.type('0303');
  await button(dialog(page), 'Issue').click();
  await expectText(dialog(page), 'Enter the whole day');
  await day.fill('');
  await button(dialog(page), 'Issue').click();
  await page.getByRole('dialog', { name: 'The license is issued' }).waitFor();
});

test('Escape closes the dialog with a new key only after a warning, unless the key was copied; without a clipboard the person copies', async () => {
  const license = await issueLicense('uncopied@example.com', 1);
  const page = await browser.openPage(origin);
  // On a page without TLS there is no clipboard.
  await page.addInitScript("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
  await openAs(page, origin, service, 'admin');
  await page.setViewportSize({ width: 320, height: 400 });
  const issued = page.getByRole('dialog', { name: 'The license is issued' });
  const issue = async () => {
    await button(page, 'Issue a license').click();
    await dialog(page).getByLabel('E-mail of the holder').fill('once@example.com');
    await page.keyboard.press('Enter');
    await issued.waitFor();
  };
  await issue();
  await page.keyboard.press('Escape');
  const warning = issued.getByRole('alert').getByText('The key is not copied yet.');
  // The warning is shown below the text, and scrolled into the window.
  await until(async () => {
    const box = await warning.boundingBox();
    return box !== null && box.y >= 0 && box.y + box.height <= 400;
  });
  await closeByEscape(issued);

  await issue();
  await button(issued, 'Copy the key').click();
  await expectText(issued, 'The browser did not allow it');
  await page.keyboard.press('Control+c');
  await page.keyboard.press('Escape');
  await issued.waitFor({ state: 'detached' });
  await expectFocus(button(page, 'Issue a license'));

  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto(`/support/#license/${license.license_id}`);
  await button(page, 'Copy the license id').click();
  const error = page.getByRole('alert').getByText('Select the license id and copy it yourself.');
  await error.waitFor();
  // The message is in front of a dialog that is opened later. When it is dismissed, the focus stays in the dialog.
  await button(page, 'Send the key').click();
  await button(dialog(page), 'Dismiss').click();
  await error.waitFor({ state: 'detached' });
  await expectFocus(dialog(page).getByRole('heading'));
});

test('going back closes a dialog under the same rules as Escape, and never leaves the view below it', async () => {
  const page = await openAs(browser, origin, service, 'admin', '#audit');
  await page.getByRole('link', { name: 'Find' }).first().click();
  await title(page, /^Find a license/).waitFor();
  const view = page.url();
  const goBack = async () => {
    await page.goBack();
    await page.waitForURL(view);
  };
  await button(page, 'Issue a license').click();
  await goBack();
  await dialog(page).waitFor({ state: 'detached' });

  await button(page, 'Issue a license').click();
  const email = dialog(page).getByLabel('E-mail of the holder');
  await email.fill('back-once@example.com');
  await goBack();
  await expectText(dialog(page).getByRole('alert'), 'What you typed would be lost.');
  expect(await email.inputValue()).toBe('back-once@example.com');

  // While the license is being issued, going back does not close the dialog, which will show the key.
  const { held } = await holdNextAnswer(page, '**/support/api/licenses');
  await email.press('Enter');
  const sendAnswer = await held;
  await goBack();
  await goBack();
  await sendAnswer();
  const issued = page.getByRole('dialog', { name: 'The license is issued' });
  await issued.waitFor();
  await goBack();
  await expectText(issued.getByRole('alert'), 'The key is not copied yet.');
  await until(async () => {
    await goBack();
    await nextFrame(page);
    return !(await issued.isVisible());
  });

  await title(page, /^Find a license/).waitFor();
  await page.goBack();
  await title(page, /^Audit/).waitFor();
});

test('Escape discards no text before its warning can be read, and while a form is sent, its fields keep the focus and their values', async () => {
  const { license, page } = await openChangeDialog('unchanged@example.com');
  const reason = dialog(page).locator('[name=reason]');
  await reason.fill('Grew');
  const warning = dialog(page).getByRole('alert').getByText('What you typed would be lost.');
  // The page measures the time between the two presses. By this clock it is zero, too short to read the warning.
  await page.evaluate('globalThis.now = performance.now, performance.now = () => 0, undefined');
  for (let presses = 0; presses < 2; presses += 1) await page.keyboard.press('Escape');
  await page.evaluate('performance.now = now, undefined');
  await warning.waitFor();
  // Further input removes the warning, and Escape gives it again. A held Escape, which the browser repeats, gives it only once and
  // does not close the dialog, also while the focus is outside the dialog.
  await reason.fill('Grew a lot');
  await warning.waitFor({ state: 'detached' });
  await page.evaluate('document.activeElement.blur()');
  for (let presses = 0; presses < 5; presses += 1) await page.keyboard.down('Escape');
  await page.keyboard.up('Escape');
  await warning.waitFor();
  expect(await reason.inputValue()).toBe('Grew a lot');
  await closeByEscape(dialog(page));

  await button(page, 'Change …').click();
  const fields = dialog(page).locator('input, select, textarea');
  const values = async () => Promise.all((await fields.all()).map((field) => field.inputValue()));
  const machines = dialog(page).getByLabel('Machines');
  await reason.fill('Grew');
  await machines.fill('5');
  const { held } = await holdNextAnswer(page, `**/licenses/${license.license_id}`);
  await machines.press('Enter');
  const sendAnswer = await held;
  const sent = await values();
  await expectFocus(machines);
  for (const field of await fields.all()) {
    await field.press('ArrowDown');
    await field.press('7');
  }
  expect(await values()).toEqual(sent);
  await sendAnswer();
  await dialog(page).waitFor({ state: 'detached' });

  await button(page, 'New key …').click();
  await button(dialog(page), 'Key leaked').click();
  const rekey = await holdNextAnswer(page, '**/rekey');
  await button(dialog(page), 'Make a new key').click();
  const answerRekey = await rekey.held;
  // The click is forced, because the button is disabled.
  await button(dialog(page), 'Key shared').click({ force: true });
  expect(await values()).toEqual(['Key leaked']);
  await answerRekey();
  await dialog(page).waitFor({ state: 'detached' });
});

test('an admin erases a holder after typing the e-mail address, also one whose domain is not in ASCII', async () => {
  const license = await issueLicense('leaves@example.com');
  await activateMachine(service, license, 'Leaving');
  const page = await openAs(browser, origin, service, 'admin', `#license/${license.license_id}`);
  await button(page, 'Erase the holder …').click();
  await dialog(page).getByLabel('Why?').fill('Asked on the telephone');
  await button(dialog(page), 'Erase').click();
  await expectText(dialog(page), /^This is not the holder/);
  await browser.expectAccessibleLayout(page);
  await dialog(page).getByLabel('Type the e-mail').fill('Leaves@example.com');
  await button(dialog(page), 'Erase').click();
  await expectToast(page, /^The holder is being erased/);
  const readEmail = async (id: string) =>
    (await service.sql('select email from license where id = $1', [id]))[0]!['email'];
  await until(async () => (await readEmail(license.license_id)) === null);

  // Browsers convert such a domain to ASCII in a field for an address.
  const other = await issueLicense('leaves@bücher.example');
  await page.goto(`/support/#license/${other.license_id}`);
  await button(page, 'Erase the holder …').click();
  await dialog(page).getByLabel('Why?').fill('Asked on the telephone');
  await dialog(page).getByLabel('Type the e-mail').pressSequentially('Leaves@bücher.example');
  await button(dialog(page), 'Erase').click();
  await dialog(page).waitFor({ state: 'detached' });
  await until(async () => (await readEmail(other.license_id)) === null);
});

test('the role support does not see the actions of admins', async () => {
  const license = await issueLicense('roles@example.com');
  const page = await openAs(browser, origin, service, 'support', `#license/${license.license_id}`);
  await button(page, 'Send the key').waitFor();
  for (const name of ['Change …', 'New key …', 'Erase the holder …'])
    expect(await button(page, name).count()).toBe(0);
  expect(await page.getByRole('link', { name: 'Staff' }).count()).toBe(0);
  await page.goto('/support/#staff');
  await title(page, /^Find a license/).waitFor();
  expect(await button(page, 'Issue a license').count()).toBe(0);
  // The tab of the browser and the navigation name what is shown.
  await until(async () => /^(\(\d+\) )?Find · /.test(await page.title()));
  expect(await page.locator('nav [aria-current]').textContent()).toMatch(/^Find/);
});

test('a release that fails is no longer pending, shows an error that stays, and can be repeated with the typed reason', async () => {
  const license = await issueLicense('released@example.com');
  await activateMachine(service, license, 'Travel');
  const page = await openAs(browser, origin, service, 'support', `#license/${license.license_id}`);
  // The page takes a 503 for a missing answer, because a proxy may send it after the service has done the work.
  await page.route('**/activations/*/release', (route) => route.fulfill({ status: 503 }));
  await button(page, 'Release Travel').click();
  await submitReason(page, 'Stolen in a train', 'Release');
  await expectText(row(page, 'Travel'), 'Release pending');
  await passUndoTime(page);
  const error = page.getByRole('alert').getByText('No answer: Travel may have been released.');
  await error.waitFor();
  await expectText(row(page, 'Travel'), /^The service cannot be reached/);
  await browser.expectAccessibleLayout(page);
  // The error stays while other messages come and go.
  await endRoute(page, '**/activations/*/release');
  await button(page, 'Release Travel').click();
  expect(await dialog(page).locator('[name=reason]').inputValue()).toBe('Stolen in a train');
  await button(dialog(page), 'Release').click();
  await dialog(page).waitFor({ state: 'detached' });
  await passUndoTime(page);
  await expectText(row(page, 'Travel').first(), 'Released on 20 November');
  await row(page, /support@example.com released “Travel” …[0-9a-f]{4} of this license/)
    .getByText('Stolen in a train')
    .waitFor();
  await error.waitFor();
  await button(page, 'Dismiss').click();
  await error.waitFor({ state: 'detached' });
  await expectFocus(title(page, /^License ending in/));
});

test('a release whose answer is lost is shown as done, and one that another person made first is not reported as one’s own', async () => {
  const license = await issueLicense('lost@example.com');
  await activateMachine(service, license, 'Travel');
  const id = await activateMachine(service, license, 'Studio Mac');
  const page = await openAs(browser, origin, service, 'support', `#license/${license.license_id}`);
  await button(page, 'Release Studio Mac').click();
  await service.app.get(ReleaseService).release(id, AUDIT_CONTEXT);
  await submitRelease(page, 'Sold');
  await expectToast(page, 'Studio Mac had been released already.');

  await page.route('**/activations/*/release', async (route) => {
    await route.fetch();
    await route.abort();
  });
  await button(page, 'Release Travel').click();
  await submitRelease(page, 'Sold');
  // The message does not say that the machine was not released.
  await page.getByRole('alert').getByText('No answer: Travel may have been released.').waitFor();
  await expectText(row(page, 'Travel').first(), 'Released on 20 November');
  expect(await page.getByText('Release pending').count()).toBe(0);
  expect(await page.getByText('The service cannot be reached').count()).toBe(0);
});

test('an imported license explains that its key cannot be mailed, also to a refused attempt, and offers an admin a new one', async () => {
  const license = await issueLicense('imported@example.com');
  const page = await openAs(browser, origin, service, 'admin', `#license/${license.license_id}`);
  await button(page, 'Send the key').click();
  // With this hash the license is like an imported one, whose key cannot be derived.
  await service.sql("update license set key_hash = decode(repeat('ad', 32), 'hex') where id = $1", [
    license.license_id,
  ]);
  await button(dialog(page), 'Send').click();
  await expectText(dialog(page), /^The service cannot make this key again/);
  await button(dialog(page), 'Cancel').click();
  await focusWindow(page);
  await expectText(page, 'An admin can replace it with a new one.');
  expect(await button(page, 'Send the key').count()).toBe(0);
  expect(await button(page, 'New key …').count()).toBe(1);
});

/** Whether the field of a choice is as wide as its longest option needs. */
const fitsOptions = (choice: Locator) =>
  choice.evaluate((element) => {
    const { width } = element.getBoundingClientRect();
    element.style.inlineSize = 'max-content';
    const needed = element.getBoundingClientRect().width;
    element.style.inlineSize = '';
    return needed <= width;
  });

/** Opens the dialog that changes a license, for an admin. */
async function openChangeDialog(email: string, machinesAllowed = 1) {
  const license = await issueLicense(email, machinesAllowed);
  const page = await openAs(browser, origin, service, 'admin', `#license/${license.license_id}`);
  await button(page, 'Change …').click();
  return { license, page };
}

/** The terms of a license that the tests of a conflict change. */
const readTerms = async ({ license_id }: { readonly license_id: string }) =>
  (await service.sql('select machines_allowed, on_expiry from license where id = $1', [license_id]))[0];

test('the second of two people who change a license gets an explanation and the current values, which are shown as such only once they are loaded', async () => {
  const { license, page } = await openChangeDialog('both@example.com');
  await page.setViewportSize({ width: 1280, height: 600 });
  await dialog(page).getByLabel('Machines').fill('5');
  await service.setLicense(license.license_id, { machines_allowed: 2, on_expiry: 'stop' });
  await dialog(page).locator('[name=reason]').fill('Grew');
  const url = `**/support/api/licenses/${license.license_id}`;
  await page.route(url, (route) => (route.request().method() === 'GET' ? route.abort() : route.continue()));
  await button(dialog(page), 'Change').click();
  await expectText(dialog(page).getByRole('alert'), 'This license was changed after you opened it');
  expect(await dialog(page).getByText('Since you opened this').count()).toBe(0);
  await endRoute(page, url);
  await button(dialog(page), 'Change').click();
  // The dialog is higher than the window: it scrolls to the explanation and to the buttons below it.
  const buttons = dialog(page).locator('form > .actions');
  await until(async () => {
    const box = (await buttons.boundingBox())!;
    return box.y + box.height <= 600;
  });
  await browser.expectAccessibleLayout(page);
  await expectText(page, '0 of 2 machines in use');
  // What was typed is kept, what was not touched is as it is now, and the dialog names who changed what.
  await expectText(dialog(page).getByRole('listitem'), 'test changed this license');
  await expectText(dialog(page).getByRole('listitem'), 'machines: 1 → 2');
  expect(await dialog(page).getByLabel('Machines').inputValue()).toBe('5');
  expect(await dialog(page).locator('[name=on_expiry]').inputValue()).toBe('stop');
  await button(dialog(page), 'Change').click();
  await expectText(page, '0 of 5 machines in use');
  expect(await readTerms(license)).toEqual({ machines_allowed: 5, on_expiry: 'stop' });
});

test('the e-mail address and the ids are copied with one click', async () => {
  const license = await issueLicense('copied@example.com', 1);
  const id = await activateMachine(service, license, 'Studio Mac');
  await service.setPurchase(license.license_id, 'paid', 'txn_<b>copied</b>');
  const page = await openAs(browser, origin, service, 'support', `#license/${license.license_id}`);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  for (const [what, text] of [
    ['e-mail', 'copied@example.com'],
    ['key ending', license.license_key.slice(-2)],
    ['transaction id', 'txn_<b>copied</b>'],
    ['license id', license.license_id],
    ['activation id', id],
  ]) {
    await button(page, `Copy the ${what}`).click();
    await expectToast(page, `The ${what} is copied.`);
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(text);
  }
});

test('the history shows how long ago something was, with the exact time on focus, and its updates move nothing', async () => {
  const license = await issueLicense('aged@example.com', 1);
  await activateMachine(service, license, 'Aged Mac');
  // Other tests advance the clock of the service.
  const now = service.clock.now().getTime();
  const page = await browser.openPage(origin, { now: new Date(now).toISOString() });
  await openAs(page, origin, service, 'support', `#license/${license.license_id}`);
  await button(page, 'Release Aged Mac').click();
  await submitRelease(page, 'Sold');
  const time = row(page, /released “Aged Mac”/).locator('time');
  const boxes = () =>
    page.evaluate(
      "[...document.querySelectorAll('[aria-labelledby=history] :is(td, th)')].map((cell) => { const { x, width, height } = cell.getBoundingClientRect(); return { x, width, height }; })",
    );
  await time.filter({ hasText: /^now$/ }).waitFor();
  await expectFocus(row(page, 'Aged Mac').first());
  const before = await boxes();
  // These ages have texts of different lengths. After 30 days the text is the date.
  for (const [age, text] of [
    [MINUTE_MS, '1 minute ago'],
    // The clock of this device is slow.
    [-4 * MINUTE_MS, 'now'],
    [HOUR_MS - 1, '59 minutes ago'],
    [HOUR_MS, '1 hour ago'],
    [DAY_MS - 1, '23 hours ago'],
    [30 * DAY_MS - 1, '29 days ago'],
    [30 * DAY_MS, '20 November'],
  ] as const) {
    await browser.setTime(page, now + age);
    await page.evaluate('dispatchEvent(new Event("focus"))');
    await time.filter({ hasText: text }).waitFor();
    expect(await boxes()).toEqual(before);
  }
  await time.focus();
  expect(await readExactTime(page, '[aria-labelledby=history] time')).toBe(
    `"20 November 2026 at ${new Date(now).toISOString().slice(11, 16)} UTC"`,
  );
  // A new entry, which is above this one, does not get the focus.
  await service.setLicense(license.license_id, { machines_allowed: 2 });
  await focusWindow(page);
  await row(page, /changed this license/).waitFor();
  await expectFocus(time);
  await browser.expectAccessibleLayout(page);
});

test('so that the key of a new license is not lost, an action in progress cannot be cancelled, and after a lost response the same button issues no second license', async () => {
  const page = await openAs(browser, origin, service, 'admin');
  const { promise: responseAllowed, resolve: sendResponse } = Promise.withResolvers<void>();
  let requestCount = 0;
  const url = '**/support/api/licenses';
  await page.route(url, async (route) => {
    requestCount += 1;
    await responseAllowed;
    await route.continue();
  });
  await button(page, 'Issue a license').click();
  await dialog(page).getByLabel('E-mail of the holder').fill('slow@example.com');
  await button(dialog(page), 'Issue').dblclick();
  await until(async () => requestCount === 1);
  // The click is forced, because the button is disabled.
  await button(dialog(page), 'Cancel').click({ force: true });
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  sendResponse();
  await page.getByRole('dialog', { name: 'The license is issued' }).waitFor();
  const issued = await service.sql("select id from license where email = 'slow@example.com'");
  expect([issued.length, requestCount]).toEqual([1, 1]);
  await button(dialog(page), 'Open the license').click();
  await expectText(factValue(page, 'Holder'), 'slow@example.com');

  const keys: string[] = [];
  await page.route(url, async (route) => {
    keys.push((JSON.parse(await (await route.fetch()).text()) as { license_key: string }).license_key);
    await route.abort();
  });
  await page.goto('/support/#find');
  await button(page, 'Issue a license').click();
  await dialog(page).getByLabel('E-mail of the holder').fill('lost-response@example.com');
  await button(dialog(page), 'Issue').click();
  await expectText(dialog(page).getByRole('alert'), /^The service cannot be reached/);
  await endRoute(page, url);
  // Other terms under the same idempotency key are refused, because the first license may be issued already.
  await dialog(page).getByLabel('Machines allowed').fill('7');
  await button(dialog(page), 'Issue').click();
  await expectText(dialog(page), /^The license was issued already/);
  await dialog(page).getByLabel('Machines allowed').fill('');
  await button(dialog(page), 'Issue').click();
  await page.getByRole('dialog', { name: 'The license is issued' }).waitFor();
  expect([await dialog(page).getByLabel('License key').textContent()]).toEqual(keys);
  expect(await service.sql("select id from license where email = 'lost-response@example.com'")).toHaveLength(
    1,
  );
});

test('going back leads to the search results in their current state', async () => {
  const license = await issueLicense('back@example.com', 2);
  await issueLicense('back@example.com', 1);
  await activateMachine(service, license, 'Back Mac');
  const page = await openAs(browser, origin, service, 'support');
  await find(page, 'back@example.com');
  await page.getByRole('row').filter({ hasText: '1 of 2 in use' }).getByRole('link').click();
  await button(page, 'Release Back Mac').click();
  await submitRelease(page, 'Sold');
  await expectText(page, '0 of 2 machines in use');
  await page.goBack();
  await page.getByRole('row').filter({ hasText: '0 of 2 in use' }).waitFor();
});

test('after a conflict, a field that was put back to its first value counts as not edited, and each further change by another person is a conflict', async () => {
  const { license, page } = await openChangeDialog('three@example.com', 9);
  const machines = dialog(page).getByLabel('Machines');
  await machines.fill('15');
  await machines.fill('9');
  await dialog(page).getByLabel('After that').selectOption('stop');
  await dialog(page).locator('[name=reason]').fill('Asked for it');
  await service.setLicense(license.license_id, { machines_allowed: 33 });
  const refusal = dialog(page).getByRole('alert').getByText('This license was changed after you opened it');
  await button(dialog(page), 'Change').click();
  await expectText(dialog(page).getByRole('listitem'), 'machines: 9 → 33');
  expect(await machines.inputValue()).toBe('33');

  // The page reads a further change when its tab comes back. The open dialog is still based on the revision that it shows.
  await service.setLicense(license.license_id, { machines_allowed: 44 });
  await focusWindow(page);
  await expectText(page, '0 of 44 machines in use');
  expect(await machines.inputValue()).toBe('33');
  await button(dialog(page), 'Change').click();
  await expectText(dialog(page).getByRole('listitem'), 'machines: 33 → 44');
  await refusal.waitFor();
  await button(dialog(page), 'Change').click();
  await dialog(page).waitFor({ state: 'detached' });
  expect(await readTerms(license)).toEqual({ machines_allowed: 44, on_expiry: 'stop' });
});
