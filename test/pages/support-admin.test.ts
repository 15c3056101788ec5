import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import type { Route } from 'playwright-core';
import { ReleaseService } from '../../src/releases/release.service.js';
import { StaffService } from '../../src/staff/staff.service.js';
import { until } from '../support/until.js';
import { publish } from '../manifest/publish.js';
import { focusWindow } from './portal-browser.js';
import { startForBrowser } from './service.js';
import { button, dialog, createSignInLink, openAs, row, submitReason, title } from './support-browser.js';
import {
  activateMachine,
  enterBeforePaint,
  expectAnnounced,
  expectFocus,
  expectToast,
  expectText,
} from './steps.js';
import { AUDIT_CONTEXT } from '../support/harness.js';

const { service, origin, browser } = await startForBrowser();

test('an admin adds a staff member, mails a link, changes the role and removes the staff member', async () => {
  const page = await openAs(browser, origin, service, 'admin', '#staff');
  await expectFocus(title(page, 'Staff'));
  await browser.expectAccessibleLayout(page);
  await button(page, 'Add a person …').click();
  await browser.expectAccessibleLayout(page);
  await button(dialog(page), 'Add').click();
  await expectText(dialog(page), 'This is no e-mail address.');
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
  expect(links).toHaveLength(1);

  await button(page, 'Make admin: new@example.com').click();
  await submitReason(page, 'Takes over', 'Make admin');
  await person.getByRole('cell', { name: 'Admin', exact: true }).waitFor();
  await button(page, 'Remove new@example.com').click();
  await expectText(dialog(page), /^Kept for 24 months in the audit trail/);
  await browser.expectAccessibleLayout(page);
  await submitReason(page, 'Left', 'Remove');
  await person.waitFor({ state: 'detached' });
});

test('a staff member whose addition was stored although the answer was lost is listed once the dialog is closed', async () => {
  const page = await openAs(browser, origin, service, 'admin', '#staff');
  await page.route('**/api/staff', async (route) => {
    if (route.request().method() === 'GET') return route.continue();
    await route.fetch();
    await route.abort();
  });
  await button(page, 'Add a person …').click();
  await dialog(page).getByLabel('E-mail').fill('lost@example.com');
  await button(dialog(page), 'Add').click();
  await expectText(dialog(page), /^The service cannot be reached just now/);
  await button(dialog(page), 'Cancel').click();
  await row(page, 'lost@example.com').waitFor();
});

test('the last admin keeps the role, and an admin who gives it up sees the page of the role support', async () => {
  const page = await openAs(browser, origin, service, 'admin', '#staff');
  await button(page, 'Make support: admin@example.com').click();
  await dialog(page).getByLabel('Why?').fill('Goes on leave');
  await button(dialog(page), 'Make support').click();
  await expectText(dialog(page), /^This is the last admin/);
  await createSignInLink(service, 'admin', 'stays@example.com');
  await button(dialog(page), 'Make support').click();
  await title(page, /^Find a license/).waitFor();
  await expectText(page, /^Signed in as admin@example.com. Support:/);
  await page.getByRole('link', { name: 'Staff', exact: true }).waitFor({ state: 'detached' });
});

test('a script’s token is revoked with a reason', async () => {
  const token = await service.staffToken('support', 'script@example.com');
  const page = await openAs(browser, origin, service, 'admin', '#staff');
  await button(page, 'Revoke the token of script@example.com made on 20 November').click();
  await submitReason(page, 'The laptop is lost', 'Revoke');
  await expectText(page, /^No script has a token/);
  const { status } = await service.call('GET', '/support/api/audit', undefined, {
    authorization: `Bearer ${token}`,
  });
  expect(status).toBe(401);
});

test('the page follows a change of its URL during its first render', async () => {
  const page = await browser.openPage(origin);
  // This runs before the first paint, and so before any effect of the page.
  await page.addInitScript({
    content: `new MutationObserver((_changes, observer) => {
      if (!document.querySelector('nav')) return;
      observer.disconnect();
      location.hash = 'service';
    }).observe(document, { childList: true, subtree: true });`,
  });
  await openAs(page, origin, service, 'support', '#audit');
  await expectText(page, 'Nothing is published yet.');
});

test('the service view shows the manifests, the live version and the last retention runs', async () => {
  const page = await openAs(browser, origin, service, 'support', '#service');
  await expectText(page, 'Nothing is published yet. Publish with the command line: mooring manifest publish');
  await publish(service, '3.2.0');
  await publish(service, '3.3.0', '2026-06-01T00:00:00Z');
  await focusWindow(page);
  await expectText(page, 'Version 3.3.0 is live (manifest 2).');
  await expectText(row(page, '2'), '1 June 2026');
  await page
    .getByRole('table', { name: /^Last retention runs/ })
    .getByText('Done')
    .first()
    .waitFor();
  await browser.expectAccessibleLayout(page);
});

test('the service view says when the live manifest expires: in days, in less than a day, or in the past', async () => {
  const page = await browser.openPage(origin);
  const live = { sequence: 2, version: '3.3.0', expires_at: '2026-11-22T05:00:00Z', days_left: 1 };
  await page.route('**/support/api/manifests', (route) => route.fulfill({ json: { live, manifests: [] } }));
  await openAs(page, origin, service, 'support', '#service');
  await expectText(page, 'Its manifest expires in 1 day, on 22 November 2026 at 05:00 UTC.');
  for (const [days_left, expires_at, sentence] of [
    [0, '2026-11-21T05:00:00Z', 'Its manifest expires in less than a day, on 21 November 2026 at 05:00 UTC.'],
    [-1, '2026-11-20T05:00:00Z', 'Its manifest expired on 20 November 2026 at 05:00 UTC: apps'],
  ] as const) {
    Object.assign(live, { days_left, expires_at });
    await focusWindow(page);
    await expectText(page, sentence);
  }
});

test('the service view shows warnings, mails that were not delivered and why, and waiting jobs', async () => {
  const page = await openAs(browser, origin, service, 'support', '#service');
  await expectText(page, 'The service has no warnings.');
  await expectText(page, 'No other job is waiting.');
  const licenseId = '0198f000-0000-7000-8000-000000000001';
  await service.sql(
    `select graphile_worker.add_job('mail_license_key', '{}', run_at := now() + interval '1 day', job_key := $1)`,
    [`license_key ${licenseId}`],
  );
  await service.sql(
    `update graphile_worker._private_jobs set attempts = 3, last_error = 'the mail server <b>refused</b> it' where key = $1`,
    [`license_key ${licenseId}`],
  );
  await focusWindow(page);
  await expectText(page, /^Undelivered mails: 1, because the mail server <b>refused/);
  const mail = page.getByRole('table', { name: '1 mail was not delivered' });
  await mail
    .getByRole('row', { name: /^License key the mail server/ })
    .getByRole('link', { name: 'The license' })
    .and(page.locator(`[href="#license/${licenseId}"]`))
    .waitFor();
  // A failed mail counts neither as a waiting mail nor as another job.
  await expectText(page, 'No other job is waiting.');
  expect(await page.getByText(/waiting to be sent/).count()).toBe(0);
  for (const [key, task] of [
    ['sign_in_code 1', 'mail_sign_in_code'],
    ['erasure 1', 'erasure'],
  ])
    await service.sql(
      `select graphile_worker.add_job($2, '{}', run_at := now() + interval '1 day', job_key := $1)`,
      [key, task],
    );
  await focusWindow(page);
  await expectText(page, '1 more mail waits for its first attempt.');
  const job = page
    .getByRole('table', { name: 'Other jobs that are not done' })
    .getByRole('row', { name: /^erasure/ });
  await job.waitFor();
  await browser.expectAccessibleLayout(page);
  const alignments = () =>
    job
      .getByRole('cell')
      .evaluateAll((cells) =>
        cells.map((cell) => cell.ownerDocument.defaultView!.getComputedStyle(cell).textAlign),
      );
  await page.setViewportSize({ width: 1280, height: 800 });
  expect(await alignments()).toEqual(['end', 'end', 'end']);
  // The cells are stacked, each behind the name of its column.
  await page.setViewportSize({ width: 320, height: 800 });
  expect(await alignments()).toEqual(['start', 'start', 'start']);
  await service.sql('delete from graphile_worker._private_jobs');
});

test('the service view counts the events that wait, failed and were given up, more failed mails than it lists, and the mails without an attempt', async () => {
  const page = await browser.openPage(origin);
  const events = {
    is_recording: true,
    waiting: 7,
    failing: 2,
    given_up: 1,
    attempts: 4,
    reason: 'HTTP status 500',
    oldest_waiting: null,
  };
  const failing = ['one', 'two'].map((about) => ({
    kind: 'license_key',
    about,
    reason: 'refused',
    attempts: 25,
    waiting_since: '2026-11-20T12:00:00Z',
    next_attempt_at: null,
  }));
  const mail = { waiting: 6, untried: 6, late: 0, failed: 110, failing };
  await page.route('**/support/api/service', (route) =>
    route.fulfill({ json: { warnings: [], mail, events, jobs: [] } }),
  );
  await openAs(page, origin, service, 'support', '#service');
  await expectText(page, '7 events wait to be sent to EVENTS_URL.');
  const sentence = 'Of the events, 2 failed so far and 1 were given up. Reason: HTTP status 500.';
  await expectText(page, sentence);
  await page.getByRole('table', { name: '110 mails were not delivered; 2 of them are listed' }).waitFor();
  await expectText(page, '6 more mails wait for their first attempt.');
});

/** Inserts entries of an actor, one a minute from a time on. */
const insertEvents = (actor: string, from: string, count: number, reason: string | null = null) =>
  service.sql(
    `insert into audit_event (id, actor, action, reason, change, at)
     select gen_random_uuid(), $1, 'license.import', $4, jsonb_build_object('licenses', n), $2::timestamptz + n * interval '1 minute'
     from generate_series(0, $3::int - 1) n`,
    [actor, from, count, reason],
  );

/** The sentence in which the page shows entry n of `insertEvents`. */
const importSentence = (actor: string, n: number | string) => `${actor} imported licenses licenses: ${n}`;

test('the audit trail says in sentences who did what to which license or person, with the old and new values', async () => {
  const license = await service.issue({ email: 'audited@example.com' });
  const hint = license.license_key.slice(-2);
  await service.setLicense(license.license_id, { machines_allowed: 3, staff_status: 'suspended' });
  await service.setLicense(license.license_id, { expires_at: new Date('2027-01-05T00:00:00Z') });
  const staff = service.app.get(StaffService);
  const { staff_id } = await staff.ensure('bo@example.com', 'support', AUDIT_CONTEXT);
  await staff.setRole(staff_id, 'admin', AUDIT_CONTEXT);
  const { staff_id: removed } = await staff.ensure('removed@example.com', 'support', AUDIT_CONTEXT);
  await staff.remove(removed, AUDIT_CONTEXT);
  await service.sql(
    `insert into audit_event (id, actor, action, change, at) select gen_random_uuid(), 'test', action, change::jsonb, '2026-11-20T12:00:00Z'
     from (values ('license.import', '{"licenses":3,"linked":1,"raised_purchases":2,"mails":0}'),
                  ('license.send_keys', '{"mails":4}')) as import (action, change)`,
  );
  const page = await browser.openPage(origin, { now: '2026-11-20T16:00:00Z' });
  await openAs(page, origin, service, 'support', '#audit');
  await expectFocus(title(page, 'Audit trail'));
  for (const sentence of [
    `test changed the license ending in ${hint} status: active → suspended, machines: 1 → 3`,
    `test changed the license ending in ${hint} expires: never → 4 January 2027`,
    'test changed the role of bo@example.com role: support → admin',
    `test removed a person who has left (…${removed.slice(-4)}) from the staff role: support until then`,
    'test made a link for support@example.com to sign in mailed: no',
    'test imported licenses mails: 0, linked: 1, licenses: 3, changed purchases: 2',
    'test mailed the new keys of imported licenses mails: 4',
  ])
    await row(page, sentence).first().waitFor();
  // The exact time has the time zone, and the keyboard reaches it.
  const time = row(page, /^test changed the role of bo@/).getByText('3 hours ago');
  await time.focus();
  expect(await time.getAttribute('data-exact')).toBe('20 November 2026 at 13:00 UTC');
  await browser.expectAccessibleLayout(page);
  await page
    .getByRole('link', { name: `the license ending in ${hint}` })
    .first()
    .click();
  await title(page, /^License ending in/).waitFor();
  expect(page.url()).toBe(`${origin}/support/#license/${license.license_id}`);
  await row(page, 'test changed this license status: active → suspended, machines: 1 → 3').waitFor();
});

test('the audit trail shows hostile names, labels and reasons as text, and fits a narrow screen', async () => {
  const markup = '<img src=x onerror=alert(1)> ';
  const license = await service.issue({ email: 'hostile@example.com' });
  const label = `${markup}🦊`;
  const id = await activateMachine(service, license, label);
  await service.app
    .get(ReleaseService)
    .release(id, { actor: `${markup}\u202Eactor`, reason: markup.repeat(10) });
  await insertEvents('x'.repeat(254), '2026-11-20T12:00:00Z', 1, 'y'.repeat(500));
  await service.sql(
    `insert into audit_event (id, actor, action, change, at) values (gen_random_uuid(), 'cli', '<b>unknown</b>', $1, '2026-11-20T13:00:00Z')`,
    [{ '<i>name</i>': markup, before: { '<i>name</i>': ['a', { b: 1 }] } }],
  );
  const page = await openAs(browser, origin, service, 'support', '#audit');
  await page.getByText(`“${label}”`).first().waitFor();
  await expectText(page, markup.repeat(10).trim());
  await row(page, /^The command line: <b>unknown<\/b> <i>name<\/i>: \["a",\{"b":1\}\] → <img/).waitFor();
  await browser.expectLayout(page);
  expect(await page.locator('main img, main i, main b').count()).toBe(0);
  await page.emulateMedia({ forcedColors: 'active' });
  await browser.expectAccessible(page, 'colours');
});

test('an audit trail without entries is announced as empty, not as filtered', async () => {
  const page = await openAs(browser, origin, service, 'admin');
  await page.route('**/support/api/audit?*', (route) =>
    route.fulfill({ json: { events: [], next_cursor: null } }),
  );
  await page.evaluate("location.hash = '#audit'");
  await expectAnnounced(page, /^Nothing was done in the last \d+ months\.$/);
});

test('the audit trail is filtered by person, action and days, and the URL keeps the filters', async () => {
  // In New York the 10th of November begins at 05:00 UTC.
  await insertEvents('ada@vendor.example', '2026-11-10T04:59:00Z', 3);
  await insertEvents('bo@vendor.example', '2026-11-11T04:59:00Z', 3);
  const page = await browser.openPage(origin, { timezoneId: 'America/New_York' });
  await openAs(page, origin, service, 'support', '#audit');
  await page.getByLabel('Person').selectOption('ada@vendor.example');
  await page.getByLabel('Action').selectOption('Imported licenses');
  await button(page, 'Show').click();
  await page.getByRole('table', { name: '3 entries, newest first' }).waitFor();
  await expectAnnounced(page, '3 entries, newest first');
  await expectFocus(button(page, 'Show'));
  expect(page.url()).toMatch(/#audit\/actor_id=[\w-]{16}&action=license\.import$/);

  await page.getByLabel('From').fill('2026-11-10');
  await page.getByLabel('Through').fill('2026-11-09');
  await expectText(page, 'This day is before the first one.');
  await browser.expectAccessibleLayout(page);
  await button(page, 'Show').click();
  await expectFocus(page.getByLabel('Through'));
  // A day that is typed only in part is reported, and not taken as no filter.
  const typed = page.url();
  await page.getByLabel('Through').fill('');
  await page.getByLabel('Through').click();
  await page.keyboard.press('Home');
  await page.keyboard.type('1110');
  await button(page, 'Show').click();
  await expectText(page, 'Enter the whole day, with a year from 1970 to 9999, or leave the field empty.');
  await expectFocus(page.getByLabel('Through'));
  expect(page.url()).toBe(typed);
  await page.getByLabel('Through').fill('2026-11-10');
  await page.getByLabel('Person').selectOption('Everyone');
  await button(page, 'Show').click();
  // The first entry of one person is on the 9th, and the last two of the other person are on the 11th of November.
  await page.getByRole('table', { name: '3 entries, newest first' }).waitFor();
  for (const sentence of [
    importSentence('ada@vendor.example', 1),
    importSentence('ada@vendor.example', 2),
    importSentence('bo@vendor.example', 0),
  ])
    await row(page, sentence).waitFor();
  const filtered = page.url();

  await page.getByLabel('Person').selectOption('bo@vendor.example');
  await page.getByLabel('From').fill('2026-11-12');
  await page.getByLabel('Through').fill('');
  await button(page, 'Show').click();
  await page.getByText('No entry matches the filters.').first().waitFor();
  await page.goBack();
  await row(page, importSentence('bo@vendor.example', 0)).waitFor();
  expect(await page.getByLabel('From').inputValue()).toBe('2026-11-10');
  expect(await page.getByLabel('Person').inputValue()).toBe('');
  await page.goForward();
  await page.getByRole('paragraph').getByRole('link', { name: 'Clear the filters' }).click();
  await page.getByRole('table', { name: /^\d+ entries, newest first$|^The 50 newest entries$/ }).waitFor();
  expect(await page.getByLabel('From').inputValue()).toBe('');

  await page.goto(filtered);
  await page.reload();
  // A page that is loaded again offers a passkey again.
  await button(page, 'Later').click();
  await row(page, importSentence('bo@vendor.example', 0)).waitFor();
  expect(await page.getByLabel('Through').inputValue()).toBe('2026-11-10');

  // In New York the last day ends in the year 10000 of UTC.
  await page.goto('/support/#audit/to=9999-12-31');
  await page.getByRole('table', { name: /^\d+ entries, newest first$|^The 50 newest entries$/ }).waitFor();
});

test('a filter that is chosen before the first paint stays chosen', async () => {
  await insertEvents('early@vendor.example', '2026-11-08T00:00:00Z', 1);
  const page = await browser.openPage(origin);
  await enterBeforePaint(page, 'select[name=action]', 'license.import');
  await openAs(page, origin, service, 'support', '#audit');
  await page.getByRole('table', { name: /entries, newest first|newest entries/ }).waitFor();
  await button(page, 'Show').click();
  await page.waitForURL(/#audit\/action=license\.import$/);
});

test('the filters take whole days in a time zone in which a day has no midnight, and at the ends of the calendar', async () => {
  // In Cairo the 24th of April 2026 begins at one o'clock.
  const page = await browser.openPage(origin, { timezoneId: 'Africa/Cairo' });
  await openAs(page, origin, service, 'support', '#audit');
  const showThrough = async (from: string, to: string) => {
    await page.getByLabel('From').fill(from);
    await page.getByLabel('Through').fill(to);
    // The response for the view without filters, which was opened before, may still be on its way.
    const sent = page.waitForResponse(/\/api\/audit\?.*\bto=/);
    await button(page, 'Show').click();
    const response = await sent;
    const { searchParams } = new URL(response.url());
    return [response.status(), searchParams.get('from'), searchParams.get('to')];
  };
  expect(await showThrough('2026-04-24', '2026-04-24')).toEqual([
    200,
    '2026-04-23T22:00:00.000Z',
    '2026-04-24T21:00:00.000Z',
  ]);
  // Every entry is between these days.
  expect(await showThrough('1970-01-01', '9999-12-31')).toEqual([200, null, '9999-12-31T22:00:00.000Z']);
  await page.getByLabel('From').fill('1969-12-31');
  await button(page, 'Show').click();
  await expectText(page, 'Enter the whole day, with a year from 1970 to 9999, or leave the field empty.');
  await expectFocus(page.getByLabel('From'));
});

test('a link with filters that select no entry, or that are invalid, leads to a message; a day typed in part, and its error, are cleared too', async () => {
  const hash = `#audit/actor_id=${'x'.repeat(16)}&action=license.none&from=soon`;
  const page = await openAs(browser, origin, service, 'support', hash);
  await page.getByText('No entry matches the filters.').first().waitFor();
  expect(await page.getByLabel('Person').locator('option:checked').textContent()).toBe(
    'Someone without entries',
  );
  expect(await page.getByLabel('Action').locator('option:checked').textContent()).toBe('license.none');
  await browser.expectAccessibleLayout(page);
  // Each object has a member with this name.
  await page.evaluate(`location.hash = 'audit/action=constructor'`);
  await until(async () => (await page.getByLabel('Action').inputValue()) === 'constructor');
  await page.evaluate(`location.hash = 'audit/action=' + encodeURIComponent('<b>x</b>')`);
  await expectText(page, 'The service did not accept that.');
  await page.getByRole('link', { name: 'Clear the filters' }).click();
  await page.getByRole('table', { name: /entries, newest first|newest entries/ }).waitFor();

  await page.goto('/support/#audit/action=license.import');
  await until(async () => (await page.getByLabel('Action').inputValue()) === 'license.import');
  await page.getByLabel('From').click();
  await page.keyboard.press('Home');
  await page.keyboard.type('1110');
  await button(page, 'Show').click();
  const error = page.getByText('Enter the whole day');
  await error.waitFor();
  const clear = page.locator('form').getByRole('link', { name: 'Clear the filters' });
  await clear.click();
  await clear.waitFor({ state: 'detached' });
  expect(await error.count()).toBe(0);
  expect(await page.locator('input:invalid').count()).toBe(0);
});

test('older entries are on further pages, which the keyboard reaches', async () => {
  await insertEvents('paging@vendor.example', '2026-11-01T00:00:00Z', 51);
  const page = await openAs(browser, origin, service, 'support', '#audit');
  const person = page.getByLabel('Person');
  await person.locator('option', { hasText: 'paging@' }).waitFor({ state: 'attached' });
  await person.focus();
  // After a second without a key, a further letter would begin another search among the options.
  await page.keyboard.press('p');
  expect(await person.locator('option:checked').textContent()).toBe('paging@vendor.example');
  const tabToText = async (name: string) => {
    const isFocused = () =>
      page.evaluate(`document.activeElement.textContent.trim() === ${JSON.stringify(name)}`);
    for (let steps = 0; steps < 100 && !(await isFocused()); steps += 1) await page.keyboard.press('Tab');
    expect(await isFocused()).toBe(true);
  };
  await tabToText('Show');
  await page.keyboard.press('Enter');
  await page.getByRole('table', { name: 'The 50 newest entries' }).waitFor();
  await row(page, importSentence('paging@vendor.example', 50)).waitFor();
  await tabToText('Older entries');
  await page.keyboard.press('Enter');
  await page.getByRole('table', { name: '1 older entry' }).waitFor();
  await row(page, importSentence('paging@vendor.example', 0)).waitFor();
  await expectAnnounced(page, '1 older entry');
  // The focus is at the start of the entries, so Tab leads to their first control.
  await page.keyboard.press('Tab');
  await expectFocus(button(page, 'Download as CSV'));
  await browser.expectAccessible(page);
  await tabToText('Newest entries');
  await page.keyboard.press('Enter');
  await row(page, importSentence('paging@vendor.example', 50)).waitFor();
  await page.goBack();
  await page.getByRole('table', { name: '1 older entry' }).waitFor();
});

test('the audit trail is downloaded as CSV with the filters of the page, and not after the session has ended', async () => {
  await insertEvents('csv@vendor.example', '2026-11-02T00:00:00Z', 51, '=1+1');
  const page = await openAs(browser, origin, service, 'support', '#audit');
  await page.getByLabel('Person').selectOption('csv@vendor.example');
  await button(page, 'Show').click();
  // Until then, the list and its link are those without a filter.
  await row(page, importSentence('csv@vendor.example', 50)).waitFor();
  await page.getByRole('link', { name: 'Older entries' }).click();
  await page.getByRole('table', { name: '1 older entry' }).waitFor();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    button(page, 'Download as CSV').click(),
  ]);
  expect(download.suggestedFilename()).toBe('audit-2026-11-20.csv');
  const lines = (await readFile(await download.path(), 'utf8')).trim().split('\r\n');
  expect(lines).toHaveLength(1 + 51);
  for (const line of lines.slice(1)) expect(line).toContain(`,csv@vendor.example,license.import,,,,'=1+1,`);
  await expectToast(page, 'The download has begun.');

  let downloads = 0;
  page.on('download', () => (downloads += 1));
  await service.sql('delete from session');
  await button(page, 'Download as CSV').click();
  await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
  expect(downloads).toBe(0);
});

test('a staff member who is no longer an admin gets the message that the role does not allow the action', async () => {
  const page = await openAs(browser, origin, service, 'admin', '#staff');
  await row(page, /^admin@example.com/).waitFor();
  // Another admin, so that the service still has one.
  await createSignInLink(service, 'admin', 'second@example.com');
  await service.sql("update staff set role = 'support' where email = 'admin@example.com'");
  await button(page, 'Add a person …').click();
  await dialog(page).getByLabel('E-mail').fill('x@example.com');
  await button(dialog(page), 'Add').click();
  await expectText(dialog(page), /^Your role does not allow this/);
});

test('a result that arrives late leaves a dialog open with what was typed, and takes no focus in another view', async () => {
  await service.app.get(StaffService).ensure('linked@example.com', 'support', AUDIT_CONTEXT);
  const page = await openAs(browser, origin, service, 'admin', '#staff');
  const link = Promise.withResolvers<Route>();
  await page.route('**/support/api/staff/*/link', (route) => link.resolve(route));
  await button(page, 'Mail a link to linked@example.com').click();
  const linkRoute = await link.promise;
  await button(page, 'Make admin: linked@example.com').click();
  await dialog(page).getByLabel('Why?').fill('Takes over');
  await linkRoute.continue();
  await expectToast(page, /^A link is on its way to linked@example.com/);
  expect(await dialog(page).getByLabel('Why?').inputValue()).toBe('Takes over');

  const staff = Promise.withResolvers<Route>();
  await page.route('**/support/api/staff', (route) => staff.resolve(route));
  await button(dialog(page), 'Make admin').click();
  const staffRoute = await staff.promise;
  await page.keyboard.press('/');
  const field = page.getByRole('textbox', { name: 'E-mail, license key' });
  await expectFocus(field);
  await staffRoute.continue();
  await expectToast(page, 'linked@example.com has another role now.');
  await expectFocus(field);
});
