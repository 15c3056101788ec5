import { afterEach, expect, test } from '@jest/globals';
import { DAY_MS } from '../../src/core/clock.js';
import { canonicalEmail } from '../../src/fields/email.js';
import { ErasureService } from '../../src/erasure/erasure.service.js';
import { mailsTo } from '../erasure/harness.js';
import { until } from '../support/until.js';
import { expectTitle, focusWindow } from './portal-browser.js';
import { endRoute, holdNextAnswer, routeNext } from './routes.js';
import { startForBrowser } from './service.js';
import {
  insertReleaseRequest,
  button,
  dialog,
  openAs,
  openLoaded,
  passUndoTime,
  row,
  signInWithLink,
  submitReason,
  submitRelease,
  title,
  untilAnswered,
  createSignInLink,
} from './support-browser.js';
import {
  activateMachine,
  expectExactTime,
  expectFocus,
  expectAnnounced,
  nextFrame,
  expectToast,
  tabTo,
  expectText,
} from './steps.js';
import { AUDIT_CONTEXT, NOW } from '../support/harness.js';

const { service, origin, browser } = await startForBrowser();
afterEach(async () => {
  await service.sql('delete from release_request');
  await service.sql('delete from erasure_request');
});

/** Activates a machine on a new license, and requests its release as the holder. */
async function requestRelease(email: string, label: string, reason: string | null = null) {
  const license = await service.issue({ email });
  const activation = await activateMachine(service, license, label, email);
  await insertReleaseRequest(service, activation, reason);
  return { ...license, activation };
}

test('waiting requests are counted in the navigation of the page and in its title; a hidden tab sends no requests', async () => {
  await requestRelease('first@example.com', 'First', 'I sold it');
  const page = await openLoaded(browser, origin, service, 'support');
  await page.getByRole('link', { name: 'Release requests 1 waits' }).waitFor();
  await expectTitle(page, '(1) Find · Support · com.example.app');

  await requestRelease('second@example.com', 'Second');
  await service.app.get(ErasureService).request('third@example.com');
  await focusWindow(page);
  await page.getByRole('link', { name: 'Release requests 2 wait' }).waitFor();
  await page.getByRole('link', { name: 'Erasure requests 1 waits' }).waitFor();
  await expectTitle(page, '(3) Find · Support · com.example.app');

  let requests = 0;
  page.on('request', () => (requests += 1));
  await page.evaluate(
    'Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true })',
  );
  await focusWindow(page);
  await page.evaluate('delete document.visibilityState');
  expect(requests).toBe(0);
  await focusWindow(page);
  // The page then requests both queues and the session.
  await until(async () => requests === 3);
});

test('requests are selected and opened by keyboard, and the reason of the holder is filled in', async () => {
  await requestRelease('first@example.com', 'First', 'I sold it');
  service.clock.advance(60_000);
  await requestRelease('second@example.com', 'Second');
  const page = await openAs(browser, origin, service, 'support', '#requests');
  await row(page, 'First').waitFor();
  await page.keyboard.press('j');
  await expectFocus(row(page, 'First'));
  const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle');
  expect(outline).toBe('solid');
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await expectFocus(row(page, 'Second'));
  await page.keyboard.press('k');
  await expectFocus(row(page, 'First'));
  await page.keyboard.press('r');
  expect(await dialog(page).locator('[name=reason]').inputValue()).toBe('I sold it');
  // A release that the holder requested is not marked as dangerous.
  expect(await button(dialog(page), 'Release').getAttribute('class')).toContain('primary');
  await button(dialog(page), 'Release').click();
  await expectToast(page, 'Releases in 10 seconds: First');
  await expectFocus(row(page, 'Second'));
  await passUndoTime(page);
  await expectToast(page, 'Released First.');
  await row(page, 'First').waitFor({ state: 'detached' });
  await expectFocus(row(page, 'Second'));
  await page.keyboard.press('d');
  // A letter that is typed into a field is not a shortcut.
  await dialog(page).locator('[name=reason]').fill('');
  await page.keyboard.type('jk rd/');
  expect(await dialog(page).locator('[name=reason]').inputValue()).toBe('jk rd/');
  await button(dialog(page), 'Decline').click();
  await expectToast(page, 'Declined to release Second.');
  await expectFocus(page.getByRole('heading', { level: 1 }));
  expect(
    (await service.sql('select decision from release_request order by asked_at')).map(Object.values),
  ).toEqual([['release'], ['decline']]);
});

test('Enter opens the license of the focused row, in the queue and in the list of a holder', async () => {
  const { license_id } = await requestRelease('rows@example.com', 'In the queue');
  service.clock.advance(60_000);
  await service.issue({ email: 'rows@example.com' });
  const page = await openAs(browser, origin, service, 'support', '#requests');
  await row(page, 'In the queue').waitFor();
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await title(page, /^License ending in/).waitFor();
  expect(page.url()).toBe(`${origin}/support/#license/${license_id}`);
  await page.goto(`/support/#holder/${license_id}`);
  await page.getByRole('table', { name: '2 licenses' }).waitFor();
  // The oldest license is the last row.
  for (const key of ['j', 'j', 'Enter']) await page.keyboard.press(key);
  await row(page, 'In the queue').first().waitFor();
  expect(page.url()).toBe(`${origin}/support/#license/${license_id}`);
});

test('going back from a license leads to the row that opened it: in the queue, the list of a holder and the audit trail', async () => {
  const { license_id } = await requestRelease('back@example.com', 'Back One');
  service.clock.advance(60_000);
  await requestRelease('back@example.com', 'Back Two');
  const page = await openAs(browser, origin, service, 'support', '#requests');
  await row(page, 'Back Two').getByRole('link').click();
  await title(page, /^License ending in/).waitFor();
  await page.goBack();
  await expectFocus(row(page, 'Back Two'));
  await page.keyboard.press('k');
  await expectFocus(row(page, 'Back One'));
  await page.reload();
  await button(page, 'Later').click();
  await row(page, 'Back Two').waitFor();
  await expectFocus(title(page, 'Release requests'));

  // The filters of the audit trail load after its entries, which are hidden until then.
  let entriesAnswered = Promise.withResolvers<void>();
  await page.route('**/support/api/audit?*', async (route) => {
    await route.fulfill({ response: await route.fetch() });
    entriesAnswered.resolve();
  });
  await page.route('**/support/api/audit/filters', async (route) => {
    await entriesAnswered.promise;
    await nextFrame(page);
    await route.continue();
  });
  for (const [hash, rows] of [
    [`#holder/${license_id}`, page.getByRole('table', { name: '2 licenses' }).locator('tbody > tr')],
    ['#audit', page.getByRole('main').locator('tbody > tr:has(a)')],
  ] as const) {
    await page.goto(`/support/${hash}`);
    await rows.nth(1).getByRole('link').click();
    await title(page, /^License ending in/).waitFor();
    entriesAnswered = Promise.withResolvers<void>();
    await page.goBack();
    await expectFocus(rows.nth(1));
    // The queue was left from one of its rows. A link to the queue leads to its heading.
    await page.getByRole('link', { name: /^Release requests/ }).click();
    await expectFocus(title(page, 'Release requests'));
  }
});

test('a queue that is longer than its list says so, and going back from a row beyond the first 50 leads to this row', async () => {
  const { license_id } = await service.issue({ email: 'long@example.com', machines_allowed: 501 });
  await service.sql(
    `with machine as (
       insert into activation (id, license_id, machine_id, hostname_hint, app_version, activated_at)
       select gen_random_uuid(), $1, decode(lpad(to_hex(n), 64, '0'), 'hex'), 'Mac ' || n, '3.2.0', '2026-11-01'
       from generate_series(1, 501) n returning id, hostname_hint)
     insert into release_request (id, activation_id, asked_at)
     select gen_random_uuid(), id, timestamptz '2026-11-02' + substr(hostname_hint, 5)::integer * interval '1 second' from machine`,
    [license_id],
  );
  const page = await openAs(browser, origin, service, 'support', '#requests');
  await page.getByRole('table', { name: 'The 500 oldest requests; newer ones may wait too' }).waitFor();
  await button(page, 'Show all 500').click();
  await row(page, 'Mac 60').getByRole('link').click();
  await title(page, /^License ending in/).waitFor();
  await page.goBack();
  await expectFocus(row(page, 'Mac 60'));
});

test('more ended erasure requests than are listed are called the newest ones', async () => {
  await service.sql(
    `insert into erasure_request (id, asked_by, received_on, runs_at, cancelled_at)
     select gen_random_uuid(), 'holder', '2026-11-01', '2026-11-04', '2026-11-02' from generate_series(1, 501)`,
  );
  const page = await openAs(browser, origin, service, 'support', '#erasures');
  await expectText(page, 'The 500 newest ended ones');
});

test('a page that gets no input stops polling, so that the session can end, and a page whose session has ended does too', async () => {
  const page = await browser.openPage(origin);
  // The test calls the timer of the page. If it advanced all timers, the timeouts of requests would run out.
  await page.addInitScript(`{
    const { fetch } = window;
    window.requests = 0;
    window.fetch = (...request) => { requests += 1; return fetch(...request); };
    window.setInterval = (timer, period) => { if (period === 60_000) window.timer = timer; };
  }`);
  await openLoaded(page, origin, service, 'support');
  const requestsOf = (script: string) =>
    page.evaluate(`{ const before = requests; ${script}; requests - before }`);
  const requestsAt = async (minute: number) => {
    await browser.setTime(page, Date.parse(NOW) + minute * 60_000);
    return requestsOf('timer()');
  };
  const bothAnswered = () =>
    Promise.all(['release-requests', 'erasures'].map((path) => untilAnswered(page, path)));
  // Every minute the page requests both queues. It stops five minutes after the last input.
  for (const minute of [1, 2, 3, 4]) {
    const answered = bothAnswered();
    expect(await requestsAt(minute)).toBe(2);
    await answered;
  }
  for (const minute of [5, 15]) expect(await requestsAt(minute)).toBe(0);
  await page.keyboard.press('Tab');
  await service.sql('delete from session');
  const refused = bothAnswered();
  expect(await requestsAt(16)).toBe(2);
  await refused;
  await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
  for (const minute of [17, 18]) expect(await requestsAt(minute)).toBe(0);
  // Only the session is requested.
  expect(await requestsOf('dispatchEvent(new Event("focus"))')).toBe(1);
});

test('a request is granted, and the machine is released; another is declined with a reason, and its machine stays', async () => {
  const first = await requestRelease('grant@example.com', 'Old Mac', 'I sold it to <b>Bob</b>');
  const other = await requestRelease('later@example.com', 'Other Mac');
  const page = await openAs(browser, origin, service, 'support', '#requests');
  await expectFocus(title(page, 'Release requests'));
  await expectText(row(page, 'Old Mac'), 'I sold it to <b>Bob</b>');
  await button(page, 'Release Old Mac, as asked').click();
  await expectText(dialog(page), /^They say/);
  await submitRelease(page, 'Sold');
  await row(page, 'Old Mac').waitFor({ state: 'detached' });
  await row(page, 'Other Mac').waitFor();
  await expectAnnounced(page, 'Released Old Mac.');
  await page.getByRole('link', { name: 'Release requests 1 waits' }).waitFor();
  const [ended] = await service.sql('select ended_reason from activation where id = $1', [first.activation]);
  expect(ended).toEqual({ ended_reason: 'released' });

  await button(page, 'Decline to release Other Mac').click();
  await submitReason(page, 'Released one last week', 'Decline');
  await expectText(page, /^No requests are waiting/);
  await browser.expectAccessible(page);
  await page.goto(`/support/#license/${other.license_id}`);
  await expectText(page, '1 of 1 machine in use');
  await row(page, /declined to release “Other Mac” …[0-9a-f]{4} of this license$/)
    .getByText('Released one last week')
    .waitFor();
});

test('a decision that another person made first is reported, and not as one’s own', async () => {
  const page = await openQueue('Sold', 'Lost', 'Kept');
  for (const [label, decided, decision, text] of [
    ['Sold', 'release', 'Release', 'Sold had been released already.'],
    ['Lost', 'decline', 'Release', 'The request to release Lost had been declined already.'],
    ['Kept', 'decline', 'Decline', 'The request to release Kept had been declined already.'],
  ] as const) {
    const name = decision === 'Release' ? `Release ${label}, as asked` : `Decline to release ${label}`;
    await button(page, name).click();
    await service.sql('update release_request set decision = $2, decided_at = now() where id = $1', [
      await requestId(label),
      decided,
    ]);
    if (decision === 'Release') await submitRelease(page, 'No longer used');
    else await submitReason(page, 'Still in use', 'Decline');
    await expectToast(page, text);
  }
});

test('a request can also be decided in the view of its license', async () => {
  const one = await requestRelease('there@example.com', 'Shown Here', 'New machine');
  const page = await openAs(browser, origin, service, 'support', `#license/${one.license_id}`);
  await page.getByRole('heading', { name: 'Open requests' }).waitFor();
  await expectText(page, 'Holder asks to release it');
  await browser.expectAccessibleLayout(page);
  await button(page, 'Release Shown Here, as asked').click();
  await submitRelease(page, 'As asked');
  await page.getByText('Released on 20 November').first().waitFor();
  expect(await page.getByRole('heading', { name: 'Open requests' }).count()).toBe(0);
  await page.getByRole('link', { name: 'Release requests', exact: true }).waitFor();
});

/** Opens the queue with a request for each label, the first one being the oldest. */
async function openQueue(...labels: string[]) {
  for (const label of labels) {
    await requestRelease(`${label.toLowerCase()}@example.com`, label, 'I sold it');
    service.clock.advance(60_000);
  }
  const page = await openAs(browser, origin, service, 'support', '#requests');
  await row(page, labels[0]!).waitFor();
  return page;
}

/** The id of the release request for the machine with this label. */
async function requestId(label: string): Promise<string> {
  const [request] = await service.sql<{ id: string }>(
    'select r.id from release_request r join activation a on a.id = r.activation_id where hostname_hint = $1',
    [label],
  );
  return request!.id;
}

const readDecisions = async () =>
  (await service.sql('select decision from release_request order by asked_at')).map(
    ({ decision }) => decision,
  );

/** Makes requests to release machines of one license, which have this label. Their activation ids have these ends. */
async function requestReleases(email: string, label: string | null, ends: readonly string[]) {
  const license = await service.issue({ email, machines_allowed: ends.length });
  for (const end of ends) {
    const id = `0198f000-0000-7000-8000-00000000${end}`;
    await service.sql(
      `insert into activation (id, license_id, machine_id, hostname_hint, app_version, activated_at)
       values ($1, $2, decode(repeat($3, 16), 'hex'), $4, '3.2.0', '2026-10-16T11:30:00Z')`,
      [id, license.license_id, end, label],
    );
    await insertReleaseRequest(service, id, null);
  }
  return license;
}

test('machines with equal labels are distinguished, with the exact time on hover and by keyboard', async () => {
  const email = 'firstname.lastname@some-company.example.com';
  const license = await requestReleases(email, null, ['aaaa', 'bbbb']);
  const page = await openAs(browser, origin, service, 'support', '#requests');
  const second = row(page, 'Unnamed machine …bbbb').filter({
    hasText: 'Activated 16 October with 3.2.0 · …bbbb',
  });
  const time = second.locator('time').first();
  const exactTime = () =>
    time.evaluate(
      (element) => element.ownerDocument.defaultView!.getComputedStyle(element, '::after').content,
    );
  expect(await exactTime()).toBe('none');
  await time.hover();
  expect(await exactTime()).toBe('"16 October 2026 at 11:30 UTC"');
  await page.mouse.move(0, 0);
  await tabTo(time);
  expect(await exactTime()).toBe('"16 October 2026 at 11:30 UTC"');
  await page.setViewportSize({ width: 1280, height: 800 });
  // The address is on one line.
  expect((await second.getByText(email).boundingBox())!.height).toBeLessThan(30);
  // The exact time is still shown, and does not widen the page.
  await browser.expectAccessibleLayout(page);

  await button(page, 'Decline to release Unnamed machine …bbbb').click();
  await expectText(dialog(page), 'Activated 16 October with 3.2.0 · …bbbb');
  await button(dialog(page), 'Cancel').click();
  await page.getByRole('checkbox', { name: 'Select all shown' }).check();
  await button(page, 'Release selected').click();
  for (const end of ['…aaaa', '…bbbb']) await dialog(page).getByRole('listitem').getByText(end).waitFor();
  await expectFocus(button(dialog(page), 'New machine'));
  await button(dialog(page), 'Cancel').click();
  await button(page, 'Release Unnamed machine …aaaa, as asked').waitFor();
  await page.goto(`/support/#license/${license.license_id}`);
  for (const end of ['…aaaa', '…bbbb']) await button(page, `Release Unnamed machine ${end}`).waitFor();
});

test('Escape hides the exact time and nothing else, although the time is in a dialog with a typed reason', async () => {
  await requestReleases('escape@example.com', null, ['aabb', 'ccdd']);
  const page = await openAs(browser, origin, service, 'support', '#requests');
  const first = row(page, 'Unnamed machine …aabb');
  for (const width of [1280, 320]) {
    await page.setViewportSize({ width, height: 800 });
    for (const name of ['Unnamed machine …aabb', 'Unnamed machine …ccdd'])
      await expectExactTime(first.locator('time').first(), row(page, name).getByText('Unnamed machine'));
  }
  await button(page, 'Decline to release Unnamed machine …aabb').click();
  const reason = dialog(page).locator('[name=reason]');
  await reason.fill('Call us first');
  await expectExactTime(dialog(page).locator('time'), dialog(page).getByRole('heading'));
  await page.keyboard.press('Escape');
  expect(await dialog(page).getByRole('alert').count()).toBe(0);
  expect(await reason.inputValue()).toBe('Call us first');
  await page.keyboard.press('Escape');
  await expectText(dialog(page).getByRole('alert'), 'What you typed would be lost.');
});

test('a pending release can be undone with a button or with Z; it is not sent, and moves no row', async () => {
  const page = await openQueue('First', 'Second');
  const changes: string[] = [];
  page.on('request', (request) => request.method() !== 'GET' && changes.push(request.url()));
  const boxes = () =>
    Promise.all(['First', 'Second'].map(async (label) => (await row(page, label).boundingBox())!));
  const before = await boxes();
  for (const label of ['First', 'Second']) {
    await page.keyboard.press('j');
    await page.keyboard.press('k');
    await row(page, label).focus();
    await page.keyboard.press('r');
    await submitReason(page, 'Sold', 'Release');
    await expectToast(page, `Releases in 10 seconds: ${label}`);
    await expectText(row(page, label), 'Release pending');
    expect(await row(page, label).getByRole('button').count()).toBe(0);
  }
  expect(await boxes()).toEqual(before);
  await browser.expectAccessibleLayout(page);

  // Z undoes the latest release. A dialog contains the button that undoes the earlier one.
  await page.keyboard.press('z');
  await expectToast(page, 'Not released: Second.');
  await expectFocus(row(page, 'Second'));
  await page.keyboard.press('r');
  await button(dialog(page), 'Undo: release First').waitFor();
  await page.keyboard.press('Escape');
  await tabTo(button(page, 'Undo: release First'));
  await page.keyboard.press('Enter');
  await expectToast(page, 'Not released: First.');
  await expectFocus(row(page, 'First'));
  await page.keyboard.press('z');
  expect(await button(page, /^Undo/).count()).toBe(0);
  await expect(passUndoTime(page)).rejects.toThrow('no release is pending');
  expect(changes).toEqual([]);
  expect(await readDecisions()).toEqual([null, null]);
});

test('releases of machines with equal labels, or none, are distinguished in messages, buttons and the history', async () => {
  const page = await openAs(browser, origin, service, 'support');
  for (const [label, text, one, two] of [
    [null, 'Unnamed machine', 'cccc', 'dddd'],
    ['Twin', 'Twin', 'eeee', 'ffff'],
  ] as const) {
    const { license_id, license_key } = await requestReleases('equal@example.com', label, [one, two]);
    await page.goto('/support/#requests');
    // Without it, the queue is not read again.
    await focusWindow(page);
    const names = [`${text} …${one}`, `${text} …${two}`];
    for (const name of names) {
      await button(page, `Release ${name}, as asked`).click();
      await submitReason(page, 'Sold', 'Release');
      await expectToast(page, `Releases in 10 seconds: ${name}`);
      await button(page, `Undo: release ${name}`).waitFor();
    }
    await page.keyboard.press('z');
    await expectToast(page, `Not released: ${names[1]}.`);
    await passUndoTime(page);
    await expectToast(page, `Released ${names[0]}.`);
    await button(page, `Decline to release ${label ?? names[1]}`).click();
    await submitReason(page, 'Still in use', 'Decline');

    const machine = label === null ? 'a machine' : `“${label}”`;
    const entries = [`released ${machine} …${one} of`, `declined to release ${machine} …${two} of`];
    await page.goto(`/support/#license/${license_id}`);
    for (const entry of entries) await row(page, `support@example.com ${entry} this license`).waitFor();
    await page.goto('/support/#audit');
    const license = `the license ending in ${license_key.slice(-2)}`;
    for (const entry of entries) await row(page, `support@example.com ${entry} ${license}`).waitFor();
  }
});

test('a pending release is sent at once when its page is left', async () => {
  const page = await openQueue('Left', 'Stays');
  await button(page, 'Release Left, as asked').click();
  await submitReason(page, 'Sold', 'Release');
  await page.goto('/privacy/');
  await until(async () => (await readDecisions())[0] === 'release');
  expect(await readDecisions()).toEqual(['release', null]);
});

test('a sign-out sends a pending release first; if that fails, the person stays signed in', async () => {
  const page = await openQueue('Waits');
  await button(page, 'Release Waits, as asked').click();
  await submitReason(page, 'Sold', 'Release');
  await page.route('**/release-requests/*', (route) => route.fulfill({ status: 503 }));
  await button(page, 'Sign out').click();
  await expectText(page.getByRole('alert'), 'No answer: Waits may have been released.');
  await endRoute(page, '**/release-requests/*');
  await button(page, 'Release Waits, as asked').click();
  expect(await dialog(page).locator('[name=reason]').inputValue()).toBe('Sold');
  await button(dialog(page), 'Release').click();
  await dialog(page).waitFor({ state: 'detached' });
  await button(page, 'Sign out').click();
  await expectFocus(title(page, 'Sign in'));
  expect(await page.getByRole('alert').count()).toBe(0);
  expect(await readDecisions()).toEqual(['release']);
});

test('if a person signs out before a decision has its result, the next person sees neither its failure nor its reason', async () => {
  const page = await openQueue('First', 'Second');
  await page.route(`**/release-requests/${await requestId('Second')}`, (route) =>
    route.fulfill({ status: 503 }),
  );
  const { held } = await holdNextAnswer(page, '**/support/api/release-requests');
  await page.getByRole('checkbox', { name: 'Select all shown' }).check();
  await button(page, 'Decline selected').click();
  await submitReason(page, 'Still in use', 'Decline');
  const answer = await held;
  await button(page, 'Sign out').click();
  await title(page, 'Sign in').waitFor();
  await answer();
  await expectText(page.getByRole('alert'), /^Declined 1 of 2 requests/);

  const link = await createSignInLink(service, 'support', 'next@example.com');
  await page.evaluate(`location.hash = ${JSON.stringify(link.slice(link.indexOf('#')))}`);
  await button(page, 'Sign in with this link').click();
  await button(page, 'Later').click();
  expect(await page.getByRole('alert').count()).toBe(0);
  await page.getByRole('link', { name: /^Release requests/ }).click();
  await button(page, 'Decline to release Second').click();
  expect(await dialog(page).locator('[name=reason]').inputValue()).toBe('');
  expect(
    await row(page, 'Second')
      .getByText(/^The service cannot be reached/)
      .count(),
  ).toBe(0);
});

test('a release that is pending when the session ends is shown as not done, also after a new sign-in', async () => {
  const page = await openQueue('Ended');
  await button(page, 'Release Ended, as asked').click();
  await submitReason(page, 'Sold', 'Release');
  await service.sql('delete from session');
  await passUndoTime(page);
  const ended = page.getByRole('dialog', { name: 'Your session has ended' });
  await ended
    .getByRole('alert')
    .getByText(/^Ended was not released. This was not done, because your session had ended/)
    .waitFor();
  await signInWithLink(page, origin, await createSignInLink(service, 'support'));
  await button(ended, 'I have signed in in another tab').click();
  await ended.waitFor({ state: 'detached' });
  await expectText(page.getByRole('alert'), /^Ended was not released/);
  await expectText(row(page, 'Ended'), /^This was not done/);
  expect(await readDecisions()).toEqual([null]);
});

test('if another person has signed in meanwhile, who is named at once, no release and no decline is done', async () => {
  const page = await openQueue('Theirs', 'Declined', 'Sent');
  const signInAs = async (email: string) =>
    signInWithLink(page, origin, await createSignInLink(service, 'support', email));
  const expectNotDone = async (sentence: RegExp, email: string) => {
    await page.getByRole('alert').getByText(sentence).waitFor();
    await expectText(page, `Signed in as ${email}.`);
    expect(await readDecisions()).toEqual([null, null, null]);
    await button(page, 'Later').click();
    await page.getByRole('link', { name: /^Release requests/ }).click();
  };
  await button(page, 'Release Theirs, as asked').click();
  await submitReason(page, 'Sold', 'Release');
  await signInAs('second@example.com');
  await passUndoTime(page);
  await expectNotDone(
    /^Theirs was not released. This was not done, because another person/,
    'second@example.com',
  );

  await button(page, 'Decline to release Declined').click();
  await dialog(page).waitFor();
  await signInAs('third@example.com');
  await submitReason(page, 'Still in use', 'Decline');
  await expectNotDone(
    /^The request to release Declined was not declined. This was not done, because another person/,
    'third@example.com',
  );

  await button(page, 'Release Sent, as asked').click();
  await submitReason(page, 'Sold', 'Release');
  // The last answer about the session still names the person who confirmed the release.
  await routeNext(page, '**/support/api/session', async (route) => {
    const response = await route.fetch();
    await signInAs('fourth@example.com');
    await route.fulfill({ response });
  });
  await passUndoTime(page);
  await expectNotDone(
    /^Sent was not released. This was not done, because another person/,
    'fourth@example.com',
  );
});

test('requests are selected by keyboard and released with one reason, and one that fails stays selected', async () => {
  const page = await openQueue('First', 'Second', 'Third');
  const second = row(page, 'Second');
  for (const key of ['j', 'x', 'j', 'x', 'j', 'x', 'x']) await page.keyboard.press(key);
  await expectText(page, '2 selected');
  await page.route(`**/release-requests/${await requestId('Second')}`, (route) =>
    route.fulfill({ status: 503 }),
  );
  await page.keyboard.press('Shift+R');
  await dialog(page).getByRole('heading', { name: 'Release 2 machines?' }).waitFor();
  await submitReason(page, 'Moved to new machines', 'Release');
  await expectToast(page, 'Releases in 10 seconds: 2 machines');
  await expectFocus(row(page, 'Third'));
  await expectText(second, 'Release pending');
  await passUndoTime(page);
  await page
    .getByRole('alert')
    .getByText('Released 1 of 2 machines. 1 failed: it stays selected, and its row says why.')
    .waitFor();
  await row(page, 'First').waitFor({ state: 'detached' });
  await expectText(second, /^The service cannot be reached/);
  expect(await second.getByRole('checkbox').isChecked()).toBe(true);
  expect(await readDecisions()).toEqual(['release', null, null]);
  const events = await service.sql(
    "select reason from audit_event where action = 'release_request.decide' and reason = 'Moved to new machines'",
  );
  expect(events).toHaveLength(1);
});

test('a request that its holder makes again after it was declined is not selected', async () => {
  const page = await openQueue('Again', 'Other');
  const checkbox = row(page, 'Again').getByRole('checkbox');
  await checkbox.check();
  await button(page, 'Decline selected').click();
  await submitReason(page, 'Still in use', 'Decline');
  await row(page, 'Again').waitFor({ state: 'detached' });
  const [{ activation_id } = { activation_id: '' }] = await service.sql<{ activation_id: string }>(
    `select r.activation_id from release_request r join activation a on a.id = r.activation_id where hostname_hint = 'Again'`,
  );
  await insertReleaseRequest(service, activation_id, 'Really sold');
  await focusWindow(page);
  await row(page, 'Again').waitFor();
  expect(await checkbox.isChecked()).toBe(false);
  expect(await button(page, 'Release selected').getAttribute('aria-disabled')).toBe('true');
});

test('all requests that are shown are selected with the mouse and declined with one reason', async () => {
  const page = await openQueue('First', 'Second', 'Third');
  expect(await button(page, 'Decline selected').getAttribute('aria-disabled')).toBe('true');
  await page.getByRole('checkbox', { name: 'Select all shown' }).check();
  await page.getByRole('checkbox', { name: /^Select Second/ }).uncheck();
  await expectText(page, '2 selected');
  await browser.expectAccessibleLayout(page);
  await page.getByRole('checkbox', { name: 'Select all shown' }).check();
  // Another person decides the first request meanwhile.
  await service.sql(
    `update release_request set decision = 'release', decided_at = now()
     where activation_id = (select id from activation where hostname_hint = 'First' order by id desc limit 1)`,
  );
  await button(page, 'Decline selected').click();
  await submitReason(page, 'Still in use', 'Decline');
  await expectToast(page, 'Declined 2 of 3 requests. 1 of them had been decided already.');
  await expectText(page, /^No requests are waiting/);
  expect(await readDecisions()).toEqual(['release', 'decline', 'decline']);
});

test('the dialogs show what the mail to the holder says, with the reason while it is typed', async () => {
  const page = await openQueue('Mailed', 'Mailed-too');
  const reason = 'Still in <b>use</b> since May 😀';
  const preview = dialog(page).locator('blockquote');
  const mailText = async (email: string, subject: RegExp) => {
    await until(async () => (await mailsTo(service, email, subject)).length > 0);
    const [mail] = await mailsTo(service, email, subject);
    return mail!.text.replaceAll(/\s+/g, ' ');
  };
  await button(page, 'Decline to release Mailed').click();
  await expectText(preview, 'Reason: …');
  await dialog(page).locator('[name=reason]').fill(reason);
  await expectText(preview, `Reason: ${reason}`);
  const declined = await preview.locator('p').allTextContents();
  await browser.expectAccessibleLayout(page);
  await button(dialog(page), 'Decline').click();
  await expectToast(page, 'Declined to release Mailed.');
  const declineMail = await mailText('mailed@example.com', /stays on your license/);
  for (const paragraph of declined) expect(declineMail).toContain(paragraph);

  await button(page, 'Release Mailed-too, as asked').click();
  await dialog(page).locator('[name=reason]').fill('Sold');
  await expectText(preview, 'Reason: Sold');
  const released = await preview.locator('p').allTextContents();
  await submitRelease(page, 'Sold');
  await expectToast(page, 'Released Mailed-too.');
  const releaseMail = await mailText('mailed-too@example.com', /was released/);
  for (const paragraph of released) expect(releaseMail).toContain(paragraph);
});

test('erasure requests are sorted by days left, and an admin carries one out', async () => {
  const erasures = service.app.get(ErasureService);
  const today = service.clock.now();
  for (const [email, daysAgo] of [
    ['calm@example.com', 0],
    ['overdue@example.com', 33],
    ['soon@example.com', 27],
  ] as const) {
    await service.issue({ email });
    const { id } = await erasures.request(canonicalEmail(email)!);
    const received = new Date(today.getTime() - daysAgo * DAY_MS).toISOString().slice(0, 10);
    await service.sql('update erasure_request set received_on = $2 where id = $1', [id, received]);
  }
  const page = await openAs(browser, origin, service, 'admin', '#erasures');
  await expectText(row(page, 'calm@example.com'), 'in 30 days');
  expect(await page.getByRole('rowheader').allTextContents()).toEqual([
    'overdue@example.com',
    'soon@example.com',
    'calm@example.com',
  ]);
  await expectText(row(page, 'overdue@example.com'), '3 days overdue');
  await browser.expectAccessibleLayout(page);
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await expectFocus(row(page, 'soon@example.com'));
  await page.keyboard.press('k');
  await page.keyboard.press('r');
  await dialog(page)
    .getByRole('heading', { name: 'Delete everything about overdue@example.com now?' })
    .waitFor();
  await button(dialog(page), 'Delete now').click();
  await row(page, 'overdue@example.com').waitFor({ state: 'detached' });
  await expectAnnounced(page, /^Done/);
  const carriedOut = page.getByRole('row').filter({ hasText: 'Carried out' });
  await expectFocus(carriedOut);
  expect(await carriedOut.locator('time').getAttribute('data-exact')).toMatch(/ at \d\d:\d\d UTC$/);
  const [count] = await service.sql(
    "select count(*)::integer as licenses from license where email = 'overdue@example.com'",
  );
  expect(count).toEqual({ licenses: 0 });
});

test('the role support sees erasure requests, but cannot carry them out', async () => {
  await service.app.get(ErasureService).request('waits@example.com', AUDIT_CONTEXT);
  await service.app.get(ErasureService).request('holder@example.com');
  const page = await openAs(browser, origin, service, 'support', '#erasures');
  await row(page, 'holder@example.com').waitFor();
  expect(await page.getByRole('button', { name: /^Run/ }).count()).toBe(0);
  await expectText(page, 'By keyboard: J and K go through the rows.');
  await page.keyboard.press('j');
  await expectFocus(page.getByRole('row').nth(1));
});

test('a queue that cannot be loaded is not shown as empty', async () => {
  const page = await browser.openPage(origin);
  await page.route('**/release-requests', (route) => route.fulfill({ status: 503 }));
  await openAs(page, origin, service, 'support', '#requests');
  await expectText(page, /^The service cannot be reached/);
  expect(await page.getByText(/^No requests are waiting/).count()).toBe(0);
  await endRoute(page, '**/release-requests');
  await button(page, 'Try again').click();
  await expectText(page, /^No requests are waiting/);
});

test('an erasure request that its holder cancels while an admin views it is shown as cancelled', async () => {
  const { id } = await service.app.get(ErasureService).request('changed@example.com');
  const page = await openAs(browser, origin, service, 'admin', '#erasures');
  await button(page, 'Run now: the erasure of changed@example.com').click();
  await service.app.get(ErasureService).cancel(id);
  await button(dialog(page), 'Delete now').click();
  await page
    .getByText(/^The holder had cancelled the request/)
    .first()
    .waitFor();
  await expectAnnounced(page, /^The holder had cancelled the request/);
  await expectFocus(page.getByRole('row').filter({ hasText: 'Cancelled' }));
  await browser.expectAccessible(page);
});
